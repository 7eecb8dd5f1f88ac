import JSONRPC
import Synchronization
import Testing
import UsherTestKit

@testable import UsherKit

/// Tests of the documented programs. `FreedomID.create` is global to the process, so these tests
/// run one at a time.
@Suite("Documented Freedom ID example", .uses(.freedomID), .serialized, .timeLimit(.minutes(10)))
struct FreedomIDSeedTests {
  private let lines: AsyncStream<String>
  private let feed: AsyncStream<String>.Continuation

  init() {
    (lines, feed) = AsyncStream.makeStream()
    FreedomID.created.withLock { $0 = nil }
  }

  /// Returns the first line that the example shows after `authorize`.
  private func shown(_ daemon: FreedomIDDaemon) async throws -> String? {
    try await daemon.run { path in
      let example = FreedomIDSeedExample(
        apiKey: "key-1", socketPath: path, presenter: FreedomIDViewer.willing()
      ) { feed.yield($0) }
      example.authorize()
      var lines = lines.makeAsyncIterator()
      return await lines.next()
    }
  }

  @Test("the Freedom ID example creates, authorizes and clears, and shows each result")
  func threeCalls() async throws {
    let daemon = FreedomIDDaemon(
      starts: [.advances([.home])],
      inputs: [.advances([.passcode]), .advances([.permissions]), .advances([.authorized])])
    try await daemon.run { path in
      let example = FreedomIDSeedExample(
        apiKey: "key-1", socketPath: path, presenter: FreedomIDViewer.willing()
      ) { feed.yield($0) }
      var lines = lines.makeAsyncIterator()
      example.authorize()
      #expect(await lines.next() == "Aigerim, +77011234567")
      example.clear()
      #expect(await lines.next() == "cleared")
    }
    #expect(!daemon.methods.contains("client.clear"))
    #expect(
      daemon.params(of: "flow.start").first?["params"] == [
        "apiKey": "key-1", "grants": ["read.firstname", "read.phone"],
      ])
  }

  @Test(
    "the Freedom ID example shows a line for each kind of failure",
    arguments: [
      ("userCanceled", "no data was granted"), ("accessDenied", "no data was granted"),
      ("networkError.bodyError", "try again later: bodyError"),
      ("incorrectApiKey", "the sign-in failed: incorrectApiKey"),
      (
        "transmissionError.autheticationError",
        "the sign-in failed: transmissionError.autheticationError"
      ),
    ])
  func failures(word: String, line: String) async throws {
    #expect(try await shown(FreedomIDDaemon(.failed("provider_rejected", word))) == line)
  }

  @Test("each Freedom ID call before create ends with configurationError")
  func nothingCreated() async throws {
    let viewer = FreedomIDViewer.willing()
    await #expect(throws: FreedomIDError.configurationError) {
      try await FreedomID.authorize(presenter: viewer, grants: [.readPhone])
    }
    await #expect(throws: FreedomIDError.configurationError) { try await FreedomID.signOut() }
    clearNow()
    let (errors, told) = AsyncStream.makeStream(of: FreedomIDError?.self)
    FreedomID.authorize(presenter: viewer, grants: [.readPhone]) { told.yield($0.error) }
    var all = errors.makeAsyncIterator()
    #expect(await all.next() == .configurationError)
  }

  /// Clears the SDK as a program does that has no `async` function.
  private func clearNow() { FreedomID.clear() }

  @Test("the static Freedom ID clear ends the authorizations of the object that was created last")
  func clearedByTheClass() async throws {
    let daemon = FreedomIDDaemon(.home)
    let viewer = FreedomIDViewer.idle()
    try await daemon.run { path in
      FreedomID.create(apiKey: "key-1", socketPath: path)
      let (errors, told) = AsyncStream.makeStream(of: FreedomIDError?.self)
      FreedomID.authorize(presenter: viewer, grants: [.readPhone]) { told.yield($0.error) }
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "home")
      clearNow()
      var all = errors.makeAsyncIterator()
      #expect(await all.next() == .userCanceled)
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test("Freedom ID calls use the configuration of the last create")
  func createdAgain() async throws {
    let daemon = FreedomIDDaemon(.authorized)
    try await daemon.run { path in
      FreedomID.create(apiKey: "key-0", socketPath: "/tmp/no-such-folder/s")
      FreedomID.create(apiKey: "key-2", provider: "passport", socketPath: path)
      let viewer = FreedomIDViewer.willing()
      let profile = try await FreedomID.authorize(presenter: viewer, grants: [.readFirstname])
      #expect(profile.firstname == "Aigerim")
    }
    let start = try #require(daemon.params(of: "flow.start").first)
    #expect(start["provider"] == "passport" && start["params"]?["apiKey"] == "key-2")
  }
}
