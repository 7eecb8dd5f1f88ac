import Foundation
package import Testing

/// Runs the tests of a suite, and each of its parametrised cases, on threads that may block.
///
/// Swift's own threads are as few as there are processors: a test that blocks one of them holds up
/// whatever runs on it, such as a daemon in this process.
///
/// How long each test ran is appended to the file that `USHER_TEST_TIMES` names: `SECONDS<tab>TEST`.
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
  /// See ``BlockingThreads``.
  package static var mayBlock: BlockingThreads { BlockingThreads() }
}

/// Starts a thread for each job.
private final class ThreadPerJob: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let thread = Thread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    thread.stackSize = 2 << 20
    thread.start()
  }
}

/// The file that `USHER_TEST_TIMES` names; nothing is written where it names none.
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
    // One write for each line: lines of several threads do not mix.
    let bytes = Array(line.utf8)
    _ = write(file, bytes, bytes.count)
  }
}
