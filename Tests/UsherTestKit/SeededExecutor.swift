import UsherCore

/// Runs the jobs of tasks, and functions that may block, one at a time on the calling thread. A
/// seed determines the order, so that a test sees many interleavings and can repeat each of them.
///
/// Only tasks with this executor preference, their child tasks and the actors that they call run
/// here. Whatever waits for another thread never ends; ``run(_:)`` reports it.
package final class SeededExecutor: TaskExecutor, BlockingPool, @unchecked Sendable {
  private enum Step {
    case job(UnownedJob)
    case function(@Sendable () -> Void)
  }

  // Used by one thread at a time: jobs and functions run on the thread that calls ``run(_:)``.
  private var waiting: [Step] = []
  private var generator: SeededGenerator

  /// The choices that were made: how many steps were waiting, and which of them was taken.
  package private(set) var choices: [[Int]] = []

  package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  package func enqueue(_ job: consuming ExecutorJob) { waiting.append(.job(UnownedJob(job))) }

  package func start(_ body: @escaping @Sendable () -> Void) { waiting.append(.function(body)) }

  /// Runs `body` and everything that it starts, until nothing is left to run.
  ///
  /// - Throws: The error of `body`; ``TestError`` if `body` has not ended, because it waits for
  ///   something that never happens on this executor.
  package func run(_ body: @escaping @Sendable () async throws -> Void) throws {
    let result = Outcome()
    Task(executorPreference: self) {
      do {
        try await body()
        result.value = .success(())
      } catch {
        result.value = .failure(error)
      }
    }
    while !waiting.isEmpty {
      let index = Int.random(in: waiting.indices, using: &generator)
      choices.append([waiting.count, index])
      switch waiting.remove(at: index) {
      case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
      case .function(let function): function()
      }
    }
    guard let value = result.value else {
      throw TestError("a task waits for something that never happens")
    }
    try value.get()
  }

  private final class Outcome: @unchecked Sendable {
    var value: Result<Void, any Error>?
  }
}

extension SeededExecutor {
  /// Runs `body` for many seeds, and each seed a second time.
  ///
  /// - Returns: The number of different orders that were seen.
  /// - Throws: ``TestError`` with the seed if a run fails, or takes other steps than the first run
  ///   of the same seed.
  package static func explore(
    seeds: Range<UInt64> = 0..<200,
    _ body: @escaping @Sendable (SeededExecutor) async throws -> Void
  ) throws -> Int {
    var orders = Set<[[Int]]>()
    for seed in seeds {
      let choices = try (1...2).map { _ in
        let executor = SeededExecutor(seed: seed)
        do {
          try executor.run { try await body(executor) }
        } catch {
          throw TestError("seed \(seed): \(error)")
        }
        return executor.choices
      }
      guard choices[0] == choices[1] else {
        throw TestError("seed \(seed) takes other steps when it is repeated")
      }
      orders.insert(choices[0])
    }
    return orders.count
  }
}
