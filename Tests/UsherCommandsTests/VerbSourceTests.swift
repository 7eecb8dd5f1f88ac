import FoundationEssentials
import Testing

@Suite("Source files of the commands of usherctl")
struct VerbSourceTests {
  @Test("every usherctl command in the sources is a subcommand of the root command or of a group")
  func listed() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let commands = root.appending(path: "Sources/UsherCommands")
    let verbs = commands.appending(path: "Verbs")
    let files = try FileManager.default.contentsOfDirectory(atPath: verbs.path).map {
      verbs.appending(path: $0)
    }
    var text = ""
    for file in files + [commands.appending(path: "Usherctl.swift")] {
      text += try String(contentsOf: file, encoding: .utf8)
    }
    let types = text.split(separator: "\n").filter { $0.hasPrefix("struct ") }
      .map { $0.dropFirst("struct ".count).prefix { $0.isLetter } }
      .filter { $0.hasSuffix("Verb") || $0.hasSuffix("Verbs") }
    #expect(types.count > 50)
    let missing = types.filter { !text.contains(" \($0).self") && !text.contains("[\($0).self") }
    #expect(missing == [])
  }
}
