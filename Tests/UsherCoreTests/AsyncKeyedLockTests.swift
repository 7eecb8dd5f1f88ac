import Synchronization
import Testing

@testable import UsherCore

@Suite("Keyed asynchronous lock", .timeLimit(.minutes(10)))
struct AsyncKeyedLockTests {
  /// Counts the tasks that are at one place.
  private final class Crowd: Sendable {
    private let count = Mutex(0)

    func enter() -> Int {
      count.withLock { count in
        count += 1
        return count
      }
    }

    func leave() { count.withLock { $0 -= 1 } }
  }

  @Test("a keyed lock admits one task at a time for the same key")
  func oneKey() async throws {
    let turns = AsyncKeyedLock<String>()
    let (crowd, arrived, allArrived) = (Crowd(), Crowd(), AsyncLatch())
    let entered = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 {
        group.addTask {
          if arrived.enter() == 50 { allArrived.open() }
          return await turns.withLock("a") {
            #expect(crowd.enter() == 1)
            // The first task keeps the lock until the others have asked for it.
            await allArrived.wait()
            await Task.yield()
            crowd.leave()
            return 1
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(entered == 50)
  }

  @Test("the keys of a keyed lock do not block each other, and an error releases the key")
  func otherKey() async throws {
    let turns = AsyncKeyedLock<String>()
    let held = AsyncLatch()
    let isIn = AsyncLatch()
    let holding = Task {
      try await turns.withLock("a") { () throws(UsherError) in
        isIn.open()
        await held.wait()
      }
    }
    await isIn.wait()
    for _ in 0..<2 {
      await #expect(throws: UsherError.self) {
        try await turns.withLock("b") { () throws(UsherError) in
          throw UsherError(.conflict, "no")
        }
      }
    }
    held.open()
    try await holding.value
    let answer = try await turns.withLock("a") { () throws(UsherError) in 7 }
    #expect(answer == 7)
  }
}
