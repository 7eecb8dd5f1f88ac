import FoundationEssentials
import Testing

@Suite("Programs in the UsherKit documentation")
struct DocumentedProgramTests {
  @Test(
    "each program in the UsherKit documentation is identical to the compiled source file",
    arguments: [
      "WalletSignIn", "PhoneSignUp", "IdentityCheck", "FreedomIDSeedExample",
      "BSA/DeviceRegistration",
    ])
  func same(program: String) throws {
    let here = URL(filePath: #filePath).deletingLastPathComponent()
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
    let page = try text(root.appending(path: "Sources/UsherKit/UsherKit.docc/UsherKit.md"))
    let code = try text(here.appending(path: "\(program).swift"))
    #expect(page.contains("```swift\n\(code)```"))
  }

  private func text(_ file: URL) throws -> String {
    String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }
}
