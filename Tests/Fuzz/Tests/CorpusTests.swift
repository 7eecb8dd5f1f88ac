import FoundationEssentials
import Testing
import UsherFuzz

@Suite("Fuzz targets on their corpora")
struct CorpusTests {
  private static let folder =
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path
    + "/Corpora"

  /// Returns the names in a folder of the corpora, without those that begin with a period.
  private static func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }
      .sorted()
  }

  @Test(
    "the property of a fuzz target holds for each input of its corpus", arguments: FuzzTarget.all)
  func corpus(of target: FuzzTarget) throws {
    let folder = "\(Self.folder)/\(target.name)"
    let names = try Self.names(in: folder)
    #expect(names.count > 1, "the corpus of \(target.name) has \(names.count) inputs")
    for name in names {
      let input = [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
      #expect(throws: Never.self, "Tests/Fuzz/Corpora/\(target.name)/\(name)") {
        try target.check(input)
      }
    }
  }

  @Test("each corpus belongs to a fuzz target, and the targets have different names")
  func folders() throws {
    #expect(try Self.names(in: Self.folder) == FuzzTarget.all.map(\.name).sorted())
  }
}
