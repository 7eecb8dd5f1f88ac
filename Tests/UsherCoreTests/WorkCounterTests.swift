import Synchronization
import Testing
import UsherCore

@Suite("Count of work in progress", .timeLimit(.minutes(1)))
final class WorkCounterTests: Sendable {
  private let counter = WorkCounter()
  private let mayGoOn = Mutex(false)

  @Test("waiting for no work returns at once if there is none")
  func none() async {
    #expect(counter.isIdle)
    await counter.waitUntilIdle()
  }

  @Test("WorkCounter resumes all waiting tasks when the last work ends, and not before")
  func last() async {
    for _ in 1...2 { counter.begin() }
    await withTaskGroup { group in
      for _ in 1...3 {
        group.addTask { [self] in
          await counter.waitUntilIdle()
          #expect(mayGoOn.withLock { $0 })
        }
      }
      counter.end()
      #expect(!counter.isIdle)
      await Task.yield()
      mayGoOn.withLock { $0 = true }
      counter.end()
    }
    #expect(counter.isIdle)
  }

  @Test("work that begins after a wait has ended is waited for again")
  func again() async {
    for _ in 1...3 {
      counter.begin()
      async let idle: Void = counter.waitUntilIdle()
      counter.end()
      await idle
    }
  }

  @Test("a cancelled task no longer waits for the end of work")
  func cancelled() async {
    counter.begin()
    let waiting = Task { [counter] in await counter.waitUntilIdle() }
    waiting.cancel()
    await waiting.value
    #expect(!counter.isIdle)
  }
}
