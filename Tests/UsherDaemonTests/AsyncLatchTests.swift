import Testing
import UsherCore
import UsherTestKit

@testable import UsherDaemon

@Suite("AsyncLatch and pauses", .timeLimit(.minutes(10)))
struct AsyncLatchTests {
  @Test("tasks wait until an AsyncLatch opens and not before, and later waits return at once")
  func waiting() async {
    let (latch, arrived, passed) = (AsyncLatch(), AsyncLatch(), Recorded<Int>())
    let waiting = (0..<10).map { number in
      Task {
        if number == 9 { arrived.open() }
        await latch.wait()
        passed.add(number)
      }
    }
    await arrived.wait()
    #expect(passed.all.isEmpty)
    for _ in 1...2 { latch.open() }
    for task in waiting { await task.value }
    #expect(passed.all.sorted() == Array(0..<10))
    for _ in 1...2 { await latch.wait() }
  }

  @Test("a cancelled wait on an AsyncLatch returns at once, and other waits continue")
  func cancelled() async {
    let (latch, passed) = (AsyncLatch(), Recorded<String>())
    let waiting = Task {
      await latch.wait()
      passed.add("waiting")
    }
    let late = Task {
      await latch.wait()
      passed.add("late")
    }
    late.cancel()
    await late.value
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await latch.wait()
      passed.add("early")
    }
    await early.value
    #expect(passed.all == ["late", "early"])
    latch.open()
    await waiting.value
    #expect(passed.all.last == "waiting")
  }

  @Test("a pause lasts until its timer fires and leaves no timer behind")
  func pause() async throws {
    let clock = FakeClock()
    let scheduler = FakeScheduler(clock)
    let pause = Task { await scheduler.pause(.seconds(5)) }
    try await scheduler.isSet(.seconds(5))
    scheduler.advance(by: .seconds(4))
    #expect(scheduler.pending == [.seconds(1)])
    scheduler.advance(by: .seconds(1))
    await pause.value
    #expect(scheduler.pending.isEmpty)
  }

  @Test("a cancelled pause ends at once and removes its timer")
  func cancelledPause() async throws {
    let scheduler = FakeScheduler(FakeClock())
    let pause = Task { await scheduler.pause(.seconds(3600)) }
    try await scheduler.isSet(.seconds(3600))
    pause.cancel()
    await pause.value
    #expect(scheduler.pending.isEmpty)
  }
}
