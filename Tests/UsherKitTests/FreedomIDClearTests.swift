import JSONRPC
import Synchronization
import Testing

@testable import UsherKit

@Suite("Freedom ID clear with UsherKit", .timeLimit(.minutes(10)))
struct FreedomIDClearTests {
  /// Clears the SDK as a program does that has no `async` function.
  private func clear(_ sdk: FreedomID) { sdk.clear() }

  @Test("Freedom ID clear ends a running authorization with userCanceled and stores nothing else")
  func underWay() async throws {
    let daemon = FreedomIDDaemon(
      starts: [.advances([.home]), .advances([.password])], inputs: [.advances([.authorized])])
    let viewer = FreedomIDViewer.idle()
    try await daemon.run { path in
      let sdk = freedomID(path)
      async let outcome = sdk.outcome(viewer)
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "home")
      clear(sdk)
      #expect(await outcome.error == .userCanceled)
      clear(sdk)
      #expect(await sdk.outcome(FreedomIDViewer.willing()).firstname == "Aigerim")
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel", "flow.start", "flow.submit"])
  }

  @Test("Freedom ID clear ends an authorization that is just starting with userCanceled")
  func beginning() async throws {
    let daemon = FreedomIDDaemon(starts: [.advancesAndRepliesLater([.home])])
    let viewer = FreedomIDViewer.idle()
    try await daemon.run { path in
      let sdk = freedomID(path)
      async let outcome = sdk.outcome(viewer)
      var methods = daemon.methodsHeard.makeAsyncIterator()
      #expect(await methods.next() == "flow.start")
      clear(sdk)
      try await daemon.sendDelayedReplies()
      #expect(await outcome.error == .userCanceled)
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"] && viewer.shown.isEmpty)
  }
}

@Suite("Freedom ID signOut with UsherKit", .timeLimit(.minutes(10)))
struct FreedomIDSignOutTests {
  private static let reply = #"{"cancelled":1,"forgotten":2,"kept":3}"#

  @Test("Freedom ID signOut returns the counts of cancelled flows and forgotten and kept accounts")
  func counts() async throws {
    let daemon = FreedomIDDaemon(replies: ["client.clear": [.reply(Self.reply)]])
    let clearance = try await daemon.run { path in try await freedomID(path).signOut() }
    #expect(clearance == FreedomIDClearance(cancelled: 1, forgotten: 2, kept: 3))
    #expect(daemon.params(of: "client.clear") == [["provider": "freedom"]])
  }

  @Test("Freedom ID signOut ends a running authorization with userCanceled")
  func underWay() async throws {
    let daemon = FreedomIDDaemon(
      starts: [.advances([.home])], replies: ["client.clear": [.reply(Self.reply)]])
    let viewer = FreedomIDViewer.idle()
    try await daemon.run { path in
      let sdk = freedomID(path)
      async let outcome = sdk.outcome(viewer)
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "home")
      try await sdk.signOut()
      #expect(await outcome.error == .userCanceled)
    }
  }

  @Test("Freedom ID signOut throws parsingError for a bad reply, connectionError if disconnected")
  func troubles() async throws {
    let daemon = FreedomIDDaemon(replies: ["client.clear": [.reply(#"{"cancelled":1}"#), .lost]])
    try await daemon.run { path in
      let sdk = freedomID(path)
      await #expect(throws: FreedomIDError.parsingError) { try await sdk.signOut() }
      await #expect(throws: FreedomIDError.networkError(.connectionError)) {
        try await sdk.signOut()
      }
    }
  }
}

@MainActor
@Suite("Freedom ID completions on the main actor", .timeLimit(.minutes(10)))
final class FreedomIDCompletionTests {
  private var outcomes: [FreedomIDError?] = []

  /// Calls the SDK as a view does: the closures capture `self` and change it.
  private func call(
    _ sdk: FreedomID, _ presenter: FreedomIDViewer,
    _ ended: @escaping @MainActor @Sendable () -> Void
  ) {
    sdk.authorize(presenter: presenter, grants: [.readPhone]) {
      MainActor.assertIsolated()
      self.outcomes.append($0.error)
      sdk.signOut {
        MainActor.assertIsolated()
        if case .failure(let error) = $0 { self.outcomes.append(error) }
        ended()
      }
    }
  }

  @Test("a Freedom ID completion of a main-actor class runs on the main actor")
  func mainActor() async throws {
    let path = "/tmp/no-such-folder/s"
    let viewer = FreedomIDViewer.willing()
    await withCheckedContinuation { continuation in
      call(freedomID(path), viewer) { continuation.resume() }
    }
    #expect(outcomes == [.networkError(.connectionError), .networkError(.connectionError)])
  }
}
