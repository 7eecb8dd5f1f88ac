import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherTestKit

@testable import UsherDaemon

/// Sends the lines of the fuzz target `reply-cache` to a daemon.
@Suite("Cached replies to the lines of a fuzz target", .timeLimit(.minutes(10)))
struct ReplyCacheCorpusTests {
  /// The requests of `token.get` in the corpus, and those that only their id distinguishes.
  private func lines() throws -> [[String]] {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let folder = tests.path + "/Fuzz/Corpora/reply-cache"
    return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { name in
      let input = String(
        decoding: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), as: UTF8.self)
      return input.split(separator: "\n").map(String.init).filter { line in
        guard case .call(let call) = Scanner().scan(Array(line.utf8)) else { return false }
        let isTokenGet = Array(line.utf8).withUnsafeBytes { call.method(in: $0) == TokenGet.name }
        return isTokenGet && call.kind == .request
      }
    }
  }

  @Test("a connection with cached replies answers the lines of the corpus like a new connection")
  func agreement() async throws {
    let staged = try await ConnectionHarness()
    try await staged.signIn()
    try staged.rule { _ in }
    var compared = 0
    for lines in try lines() {
      let old = try await staged.connect()
      for line in lines {
        let new = try await staged.connect()
        let expected = try await new.answer(line)
        for _ in 1...3 { #expect(try await old.answer(line) == expected, "\(line)") }
        compared += 1
        try await new.close()
      }
      try await old.close()
    }
    #expect(compared > 5, "\(compared) lines")
    await staged.end()
  }
}
