import Foundation
package import Testing

/// Runs the tests of a suite, and each case of a parameterized test, on threads that may block.
///
/// Swift's cooperative pool has only as many threads as there are processors. A test that blocks
/// one of them delays everything else on it, such as a daemon in this process.
///
/// The duration of each test is appended to the file in `USHER_TEST_TIMES`, as `SECONDS<tab>TEST`.
package struct BlockingThreads: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    let start = ContinuousClock.now
    defer { TestTimes.record(test, ContinuousClock.now - start) }
    try await BlockingThreads.run(body)
  }

  /// Runs `body` in this task, on threads that may block.
  package static func run<Result>(
    _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    try await withTaskExecutorPreference(ThreadPerJob()) { try await body() }
  }
}

extension Trait where Self == BlockingThreads {
  /// The trait ``BlockingThreads``, for tests that block their thread.
  package static var mayBlock: BlockingThreads { BlockingThreads() }
}

/// Runs each job on a new thread.
private final class ThreadPerJob: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let thread = Thread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    thread.stackSize = 2 << 20
    thread.start()
  }
}

/// The file in `USHER_TEST_TIMES`; without that variable nothing is written.
private enum TestTimes {
  private static let file: CInt? = {
    guard let path = ProcessInfo.processInfo.environment["USHER_TEST_TIMES"] else { return nil }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    return file >= 0 ? file : nil
  }()

  static func record(_ test: Test, _ time: Duration) {
    guard let file, !test.isSuite else { return }
    let (seconds, attoseconds) = time.components
    let title = test.displayName ?? test.name
    let place = test.sourceLocation
    let line = String(
      format: "%.2f\t%@ (%@:%d)\n", Double(seconds) + Double(attoseconds) / 1e18, title,
      place.fileName, place.line)
    // A single write for each line, so that lines of several threads do not mix.
    let bytes = Array(line.utf8)
    _ = write(file, bytes, bytes.count)
  }
}
