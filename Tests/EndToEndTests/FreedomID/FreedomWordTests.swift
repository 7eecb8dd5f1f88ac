import Foundation
import JSONRPC
import Testing
import UsherKit
import UsherTestKit

/// The SDK's words for what went wrong, each produced by what the page FreedomID says.
@Suite("Freedom ID's words", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomWordTests {
  @Test("is what the flow ends with", arguments: FreedomWord.all)
  func word(word: FreedomWord) throws {
    let scene = try word.scene()
    let end = try word.end(scene)
    #expect(end.failure == [word.reason, word.word, word.code], "\(end.text)")
    #expect(end["failure"]?["provider"]?["name"] == "freedom")
    let message = end["failure"]?["message"]?.stringValue ?? ""
    #expect(!message.isEmpty && !message.contains(FreedomScene.apiKey))
    #expect(try scene.again().consents().isEmpty || word.cause == "somebody else")
  }

  @Test("no connection, a broken one, and HTTP 503: told, retried for half a minute, then the word")
  func unreachable() throws {
    let nobody = try FreedomScene(passcode: nil, base: "http://127.0.0.1:1/freedomid")
    let (broken, busy) = (try FreedomScene(passcode: nil), try FreedomScene(passcode: nil))
    try broken.spoil("accounts", ["reset": true])
    try busy.spoil("accounts", ["status": 503])
    let scenes = [nobody, broken, busy]
    let flows = try scenes.map { try $0.start(["read.firstname"]) }
    for ((scene, flow), word) in zip(zip(scenes, flows), FreedomWord.unreachable) {
      let told = try scene.moved(flow, "tells the problem") { $0.problem != nil }
      #expect(told.problem == "provider_unreachable", "\(told.text)")
      #expect(told["problem"]?["provider"]?["code"] == .string(word))
    }
    for ((scene, flow), word) in zip(zip(scenes, flows), FreedomWord.unreachable) {
      let end = try scene.app.finished(flow, moving: scene.clock)
      #expect(Array(end.failure.prefix(2)) == ["provider_unreachable", word], "\(end.text)")
    }
    #expect(try broken.requests("accounts") == 6 && busy.requests("accounts") == 6)
  }

  /// A row of the page's table.
  private struct Row {
    let word: String
    let reasons: Set<String>
    let cause: String

    var isPossible: Bool { !cause.hasPrefix("cannot be met") }
  }

  private func table() throws -> [Row] {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let page = root.appendingPathComponent(
      "Sources/UsherDaemon/Usher.docc/Providers/FreedomID.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    let section = try #require(text.components(separatedBy: "## The words\n").dropFirst().first)
    let lines = section.components(separatedBy: "\n## ")[0].split(separator: "\n")
    return lines.filter { $0.hasPrefix("| `") }.map { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      return Row(
        word: cells[1].trimmingCharacters(in: ["`"]),
        reasons: Set(
          cells[2].split(separator: ",").map {
            $0.trimmingCharacters(in: [" ", "`"])
          }), cause: cells[3])
    }
  }

  @Test("the page's table is what is produced here and three that cannot be; it is the SDK's 24")
  func page() throws {
    let rows = try table()
    let words = rows.map(\.word)
    #expect(Set(words).count == rows.count)
    #expect(
      Set(rows.filter { !$0.isPossible }.map(\.word)) == [
        "utilityError", "transmissionError.requestSendingError", "networkError.unknownError",
      ])
    let produced = Set(FreedomWord.all.map(\.word) + FreedomWord.unreachable)
    #expect(Set(rows.filter(\.isPossible).map(\.word)) == produced)
    for word in FreedomWord.all {
      let row = try #require(rows.first { $0.word == word.word })
      #expect(row.reasons.contains(word.reason), "\(word.testDescription): \(word.reason)")
    }
    // Two of the seed's 24 never stand alone: they have 6 and 5 of their own.
    #expect(Set(words) == Set(FreedomIDError.allCases.map(\.word)))
    let nested = Set(words.filter { $0.contains(".") }.map { $0.prefix { $0 != "." } })
    #expect(nested == ["transmissionError", "networkError"])
    #expect(words.count + nested.count == 24)
  }
}
