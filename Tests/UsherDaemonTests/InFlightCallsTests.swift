import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("Calls in flight at a lock", .timeLimit(.minutes(10)))
struct InFlightCallsTests {
  private let scheduler: FakeScheduler
  private let inFlightCalls: InFlightCalls

  init() {
    let clock = FakeClock()
    scheduler = FakeScheduler(clock)
    inFlightCalls = InFlightCalls(dependencies: .fake(clock, scheduler))
  }

  /// A call that waits at the latch, and its outcome.
  private func waiting(at latch: AsyncLatch, entered: AsyncLatch) -> Task<
    Result<[UInt8], UsherError>, Never
  > {
    Task { [inFlightCalls] in
      do throws(UsherError) {
        return .success(
          try await inFlightCalls.run { () async throws(UsherError) in
            entered.open()
            await latch.wait()
            return [1]
          })
      } catch {
        return .failure(error)
      }
    }
  }

  @Test("an RPC call that ends before system.lock returns its own reply or error")
  func ends() async throws {
    #expect(try await inFlightCalls.run { () throws(UsherError) in [7] } == [7])
    let error = await #expect(throws: UsherError.self) {
      try await inFlightCalls.run { () throws(UsherError) in throw UsherError(.notFound, "no") }
    }
    #expect(error?.reason == .notFound)
  }

  @Test("system.lock answers calls in flight with locked at once, and later calls too")
  func locked() async throws {
    let (latch, entered) = (AsyncLatch(), AsyncLatch())
    let calls = (1...5).map { _ in waiting(at: latch, entered: entered) }
    await entered.wait()
    inFlightCalls.end()
    for call in calls {
      let error = try await #require(throws: UsherError.self) { try await call.value.get() }
      #expect(error.reason == .locked && error.isRetryable)
    }
    let late = await #expect(throws: UsherError.self) {
      try await inFlightCalls.run { () throws(UsherError) in [7] }
    }
    #expect(late?.reason == .locked)
    await inFlightCalls.waitUntilEmpty(atMost: .seconds(5))
  }

  @Test("system.lock cancels the work of calls in flight and waits for its end")
  func settled() async throws {
    let (never, entered, ended) = (AsyncLatch(), AsyncLatch(), Recorded<Bool>())
    let call = Task { [inFlightCalls] in
      try await inFlightCalls.run { () async throws(UsherError) in
        entered.open()
        await never.wait()
        ended.add(Task.isCancelled)
        return [1]
      }
    }
    await entered.wait()
    inFlightCalls.end()
    await inFlightCalls.waitUntilEmpty(atMost: .seconds(5))
    #expect(ended.all == [true])
    await #expect(throws: UsherError.self) { try await call.value }
  }

  @Test("system.lock waits no longer than its limit for a call that ignores cancellation")
  func stubborn() async throws {
    let (stone, entered) = (AsyncLatch(), AsyncLatch())
    let call = Task { [inFlightCalls] in
      try await inFlightCalls.run { () async throws(UsherError) in
        entered.open()
        await Task { await stone.wait() }.value
        return [1]
      }
    }
    await entered.wait()
    inFlightCalls.end()
    let settled = Task { await inFlightCalls.waitUntilEmpty(atMost: .seconds(5)) }
    try await scheduler.isSet(.seconds(5))
    scheduler.advance(by: .seconds(5))
    await settled.value
    let error = await #expect(throws: UsherError.self) { try await call.value }
    #expect(error?.reason == .locked)
    stone.open()
  }

  @Test("cancelling an RPC call cancels the work inside it")
  func cancelled() async throws {
    let (never, entered) = (AsyncLatch(), AsyncLatch())
    let call = waiting(at: never, entered: entered)
    await entered.wait()
    call.cancel()
    #expect(try await call.value.get() == [1])
  }
}
