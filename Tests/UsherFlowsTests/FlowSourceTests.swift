import FoundationEssentials
import Testing
import UsherConfig
import UsherFlows

@Suite("Source files of the flows")
struct FlowSourceTests {
  @Test("every flow kind in the sources is in the flows of a provider definition")
  func offered() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder = root.appending(path: "Sources/UsherFlows").path
    var written: [String] = []
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder)
    where name.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      for line in text.split(separator: "\n") where line.contains(#"static let kind = ""#) {
        written.append(String(line.split(separator: "\"")[1]))
      }
    }
    let flows = ProviderVariety.allCases.flatMap { ProviderRegistry.flows(of: $0) }
    // Several varieties of provider may offer the same flow.
    let kinds = Dictionary(flows.map { ("\($0)", $0.kind) }) { kind, _ in kind }
    #expect(written.sorted() == kinds.values.sorted())
  }
}
