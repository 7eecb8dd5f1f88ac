import Dispatch
import Testing

@testable import UsherKit

extension BSAKitTests {
  /// The callbacks of an app whose view is isolated to the main actor.
  @MainActor @Suite("Actors of BSA callbacks")
  final class Actors {
    private var events: [String] = []

    @Test("BSA callbacks that are written on the main actor run on it, in order")
    func onMainActor() async throws {
      let daemon = BSADaemon(replies: [
        "registration.checkUserKey": [.reply(#"{"available":true}"#)],
        "registration.checkDuplicate": [
          .refused(BSADaemon.error("provider_rejected", code: 2012))
        ],
      ])
      let (ends, feed) = AsyncStream.makeStream(of: Void.self)
      try await daemon.run { _ in
        await self.check(feed)
        var all = ends.makeAsyncIterator()
        for _ in 0..<2 { _ = await all.next() }
      }
      #expect(Set(events) == ["free", "completed", "2012", "log"])
      #expect(events.filter { $0 == "completed" }.count == 2)
    }

    private func check(_ feed: AsyncStream<Void>.Continuation) {
      let bag = BSA.DisposeBag()
      BSA.APICaller.checkUserKeyAvailable(
        userKey: "user1", onUserKeyAvailable: { self.events.append("free") },
        onUserKeyNotAvailable: {}, onFailed: { _, _ in }, onError: { _ in },
        onTotalLog: { _ in self.events.append("log") },
        onCompleted: {
          self.events.append("completed")
          withExtendedLifetime(bag) { _ = feed.yield() }
        }, disposeBag: bag)
      BSA.APICaller.checkDuplicateUserData(
        verifyData: "user@email.com", verifyType: .Email, onNotDuplicateUser: {},
        onDuplicateUser: {}, onFailed: { rtCode, _ in self.events.append("\(rtCode)") },
        onError: { _ in },
        onCompleted: {
          self.events.append("completed")
          withExtendedLifetime(bag) { _ = feed.yield() }
        }, disposeBag: bag)
    }

    @Test("no BSA callback runs on the main actor after its bag was disposed of there")
    func disposedOnMainActor() async throws {
      let daemon = BSADaemon(replies: [
        "registration.checkUserKey": [.reply(#"{"available":true}"#)]
      ])
      try await daemon.run { _ in
        for call in await self.disposed() { await call.value }
      }
      #expect(events == [])
    }

    /// Disposes of a call after its answer has arrived, while its callback waits for the actor.
    ///
    /// - Returns: The call's task.
    private func disposed() -> [Task<Void, Never>] {
      let answered = DispatchSemaphore(value: 0)
      // It has no actor, so it runs while this function occupies the main actor.
      let log: @Sendable (String) -> Void = { line in
        if line.hasSuffix("was answered") { answered.signal() }
      }
      let bag = BSA.DisposeBag()
      BSA.APICaller.checkUserKeyAvailable(
        userKey: "user1", onUserKeyAvailable: { self.events.append("free") },
        onUserKeyNotAvailable: {}, onFailed: { _, _ in }, onError: { _ in }, onTotalLog: log,
        onCompleted: { self.events.append("completed") }, disposeBag: bag)
      let calls = bag.calls
      #expect(answered.wait(timeout: .now() + .seconds(10)) == .success)
      bag.dispose()
      return calls
    }
  }
}
