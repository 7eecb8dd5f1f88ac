import Testing
import UsherCore
import UsherTestKit

/// Each test runs 200 orders of its tasks' steps, each order twice.
@Suite("Interleavings of tasks that wait for each other", .mayBlock, .timeLimit(.minutes(10)))
struct InterleavingTests {
  /// What the tasks of one run have done. They run on one thread.
  private final class Log: @unchecked Sendable {
    var entries: [String] = []
    var isHeld = false
  }

  @Test("whatever the order of their steps, tasks hold a keyed lock one at a time and in turn")
  func keyedLock() throws {
    let orders = try SeededExecutor.explore { _ in
      let (lock, log) = (AsyncKeyedLock<String>(), Log())
      await withTaskGroup { group in
        for number in 1...5 {
          group.addTask {
            log.entries.append("asks \(number)")
            await lock.withLock("key") {
              if log.isHeld { log.entries.append("two tasks hold the key") }
              log.isHeld = true
              for _ in 1...2 { await Task.yield() }
              log.isHeld = false
              log.entries.append("held \(number)")
            }
          }
        }
      }
      func numbers(_ verb: String) -> [Substring] {
        log.entries.filter { $0.hasPrefix(verb) }.map { $0.dropFirst(verb.count + 1) }
      }
      guard numbers("asks") == numbers("held"), log.entries.count == 10 else {
        throw TestError("\(log.entries)")
      }
    }
    #expect(orders > 100)
  }

  @Test("whatever the order, each task that waits for a latch resumes once it is open or cancelled")
  func latch() throws {
    let orders = try SeededExecutor.explore { executor in
      let (latch, log) = (AsyncLatch(), Log())
      let waiting = (1...4).map { number in
        Task(executorPreference: executor) {
          await latch.wait()
          log.entries.append("\(number) resumed")
        }
      }
      await Task.yield()
      waiting[0].cancel()
      await waiting[0].value
      latch.open()
      for task in waiting { await task.value }
      await latch.wait()
      guard log.entries.count == 4, log.entries.contains("1 resumed") else {
        throw TestError("\(log.entries)")
      }
    }
    #expect(orders > 50)
  }

  @Test("whatever the order, waitUntilIdle returns only while no work is in progress")
  func workCounter() throws {
    let orders = try SeededExecutor.explore { _ in
      let (counter, log) = (WorkCounter(), Log())
      counter.begin()
      await withTaskGroup { group in
        for _ in 1...3 {
          group.addTask {
            await counter.waitUntilIdle()
            log.entries.append("idle")
          }
        }
        group.addTask {
          counter.begin()
          await Task.yield()
          counter.end()
          log.entries.append("first ended")
          counter.end()
        }
      }
      guard log.entries.first == "first ended", log.entries.count == 4, counter.isIdle else {
        throw TestError("\(log.entries)")
      }
    }
    #expect(orders > 50)
  }

  @Test("a run that waits for something outside of the executor is reported, and so is an error")
  func reports() throws {
    let stuck = #expect(throws: TestError.self) {
      try SeededExecutor(seed: 1).run { await AsyncLatch().wait() }
    }
    #expect(stuck?.description == "a task waits for something that never happens")
    let failed = #expect(throws: TestError.self) {
      _ = try SeededExecutor.explore(seeds: 7..<8) { _ in throw TestError("broken") }
    }
    #expect(failed?.description == "seed 7: broken")
  }
}
