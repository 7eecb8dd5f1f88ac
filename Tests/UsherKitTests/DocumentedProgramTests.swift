import FoundationEssentials
import Testing

@Suite("The documentation's program")
struct DocumentedProgramTests {
  @Test("it is the one that is compiled here")
  func same() throws {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
    let page = try text(root.appending(path: "Sources/UsherKit/UsherKit.docc/UsherKit.md"))
    let code = try text(here.appending(path: "WalletSignIn.swift"))
    #expect(page.contains("```swift\n\(code)```"))
  }

  private func text(_ file: URL) throws -> String {
    String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }
}
