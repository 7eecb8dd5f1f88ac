import JSONRPC
import Synchronization
import Testing

@testable import UsherKit

@Suite("End of a Freedom ID authorization with UsherKit", .timeLimit(.minutes(10)))
struct FreedomIDEndTests {
  @Test("cancelling a Freedom ID screen cancels the flow and returns userCanceled")
  func personGivesUp() async throws {
    let daemon = FreedomIDDaemon(.permissions)
    let viewer = FreedomIDViewer { _ in .cancel }
    #expect(try await daemon.authorize(viewer).error == .userCanceled)
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
    #expect(viewer.ends == [.failed(message: "why it failed")])
  }

  @Test("cancelling a Freedom ID flow that has already succeeded returns the profile")
  func tooLate() async throws {
    let daemon = FreedomIDDaemon(starts: [.advances([.permissions])], cancelled: .authorized)
    let viewer = FreedomIDViewer { _ in .cancel }
    #expect(try await daemon.authorize(viewer).firstname == "Aigerim")
    #expect(viewer.ends == [.authorized])
  }

  @Test("cancelling a Freedom ID task twice calls its completion once, with userCanceled")
  func appGivesUp() async throws {
    let daemon = FreedomIDDaemon(.home)
    let viewer = FreedomIDViewer.idle()
    let outcomes = Mutex<[Result<GrantedProfile, FreedomIDError>]>([])
    try await daemon.run { path in
      let task = freedomID(path).authorize(presenter: viewer, grants: [.readPhone]) { outcome in
        outcomes.withLock { $0.append(outcome) }
      }
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "home")
      task.cancel()
      task.cancel()
      await task.task.value
    }
    let errors = outcomes.withLock { $0 }.map(\.error)
    #expect(errors == [.userCanceled])
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test("Freedom ID authorize in a cancelled task calls no method of the daemon")
  func cancelledBefore() async throws {
    let daemon = FreedomIDDaemon(starts: [])
    try await daemon.run { path in
      let call = Task {
        await untilCancelled()
        return await freedomID(path).outcome(FreedomIDViewer.willing())
      }
      call.cancel()
      #expect(await call.value.error == .userCanceled)
    }
    #expect(daemon.methods.isEmpty)
  }

  @Test("a Freedom ID flow that starts during a cancellation is cancelled")
  func cancelledAtTheBegin() async throws {
    let daemon = FreedomIDDaemon(starts: [.advancesAndRepliesLater([.home])])
    let viewer = FreedomIDViewer.idle()
    try await daemon.run { path in
      let call = Task { await freedomID(path).outcome(viewer) }
      var methods = daemon.methodsHeard.makeAsyncIterator()
      #expect(await methods.next() == "flow.start")
      call.cancel()
      try await daemon.sendDelayedReplies()
      #expect(await call.value.error == .userCanceled)
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  @Test("releasing the Freedom ID presenter cancels the flow and returns userCanceled")
  func presenterGone() async throws {
    let daemon = FreedomIDDaemon(.accountCheck)
    try await daemon.run { path in
      let (outcomes, feed) = AsyncStream.makeStream(of: FreedomIDError?.self)
      let screens = begin(freedomID(path)) { feed.yield($0.error) }
      // The stream ends when the presenter is released; only the screen retains it.
      for await shown in screens { #expect(shown.screen.caseName == "waiting") }
      try await daemon.happens(.home)
      var all = outcomes.makeAsyncIterator()
      #expect(await all.next() == .userCanceled)
    }
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
  }

  /// Starts an authorization whose presenter is released after its first screen.
  private func begin(
    _ sdk: FreedomID,
    _ completion: @escaping @Sendable (Result<GrantedProfile, FreedomIDError>) -> Void
  ) -> AsyncStream<FreedomIDViewer.Shown> {
    let (shown, seen) = AsyncStream.makeStream(of: Void.self)
    let viewer = FreedomIDViewer { _ in
      seen.finish()
      return .stay
    }
    sdk.authorize(presenter: viewer, grants: [.readPhone], completion: completion)
    Task { [viewer] in
      for await _ in shown {}
      withExtendedLifetime(viewer) {}
    }
    return viewer.screens
  }
}

// MARK: - The daemon

extension FreedomIDEndTests {
  @Test("a Freedom ID authorization survives a short absence of the daemon")
  func shortAbsence() async throws {
    let daemon = FreedomIDDaemon(.finger)
    daemon.disconnectReads(3)
    let viewer = FreedomIDViewer.willing()
    let outcome = try await daemon.authorize(viewer, patience: .seconds(5)) {
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "fingerprint")
      try await daemon.happens(.authorized)
    }
    #expect(outcome.firstname == "Aigerim")
  }

  @Test("a Freedom ID authorization ends with connectionError if the daemon does not come back")
  func disconnect() async throws {
    let daemon = FreedomIDDaemon(starts: [.advances([.home])], cancelled: nil)
    daemon.disconnectReads(100)
    let viewer = FreedomIDViewer.idle()
    #expect(try await daemon.authorize(viewer).error == .networkError(.connectionError))
    #expect(viewer.ends.count == 1)
  }

  @Test("a Freedom ID flow that cannot be followed is cancelled, unless it has succeeded")
  func lastWord() async throws {
    for (end, error) in [
      (FreedomIDFlowSnapshot.cancelled, FreedomIDError.networkError(.connectionError)),
      (.authorized, nil),
    ] {
      let daemon = FreedomIDDaemon(starts: [.advances([.home])], cancelled: end)
      daemon.disconnectReads(100)
      #expect(try await daemon.authorize(.idle()).error == error)
      #expect(daemon.methods == ["flow.start", "flow.cancel"])
    }
  }

  @Test("a Freedom ID answer that the daemon forbids cancels the flow and returns accessDenied")
  func forbidden() async throws {
    let daemon = FreedomIDDaemon(
      .home, inputs: [.refused(FreedomIDDaemon.error("permission_denied"))])
    #expect(try await daemon.authorize().error == .accessDenied)
    #expect(daemon.methods == ["flow.start", "flow.submit", "flow.cancel"])
  }

  @Test("an unknown Freedom ID step cancels the flow and returns parsingError")
  func unknownStep() async throws {
    let daemon = FreedomIDDaemon(.accountCheck)
    let viewer = FreedomIDViewer.willing()
    let outcome = try await daemon.authorize(viewer) {
      var screens = viewer.screens.makeAsyncIterator()
      #expect(await screens.next()?.screen.caseName == "waiting")
      try await daemon.happens(.asking("home", #"{"type":"hologram"}"#))
    }
    #expect(outcome.error == .parsingError)
    #expect(daemon.methods == ["flow.start", "flow.cancel"])
    #expect(viewer.shown.count == 1)
  }

  @Test("a Freedom ID page ends with configurationError if the presenter opens no pages")
  func otherMode() async throws {
    let page = #"""
      {"type":"openURL","url":"https://id.example/","redirectURI":"http://127.0.0.1:1/",\#
      "completes":"loopback"}
      """#
    let daemon = FreedomIDDaemon(.asking("browser", page))
    let viewer = FreedomIDViewer.willing()
    #expect(try await daemon.authorize(viewer).error == .configurationError)
    #expect(daemon.methods == ["flow.start", "flow.cancel"] && viewer.shown.isEmpty)
  }
}
