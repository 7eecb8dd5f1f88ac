import Synchronization
import Testing
import UsherCommands
import UsherCore

/// A clock that advances only by sleeps, which return at once.
///
/// The first sleep beyond the limit runs `atLimit`; each sleep beyond the limit waits until it is
/// cancelled.
final class TestTime: Clock {
  static let start = Timestamp(milliseconds: 1_893_456_000_000)  // 2030-01-01T00:00:00Z

  private let state: Mutex<Timestamp>
  private let limit: Timestamp
  private let atLimit: @Sendable () -> Void

  init(until seconds: Double = 0, then atLimit: @escaping @Sendable () -> Void = {}) {
    state = Mutex(Self.start)
    limit = Self.start + .seconds(seconds)
    self.atLimit = atLimit
  }

  func now() -> Timestamp { state.withLock { $0 } }

  func sleep(for duration: Duration) async throws {
    let isOver = state.withLock { now in
      guard now + duration <= limit else { return false }
      now = now + duration
      return true
    }
    if isOver { return }
    atLimit()
    for await _ in AsyncStream<Void>.makeStream().stream {}
    throw CancellationError()
  }
}

/// Fails the test if a command line is run.
struct NoPrograms: Programs {
  func run(
    _ command: String, input: Secret, within limit: Duration
  ) async throws -> CommandEnding {
    Issue.record("unexpected: \(command)")
    return .failed(status: 127)
  }
}

/// Simulates a program with a given ending, and records its input.
final class ScriptedProgram: Programs {
  struct Run: Equatable {
    let command: String
    let input: String
    let limit: Duration
  }

  private let ending: CommandEnding?
  private let log = Mutex<[Run]>([])

  /// - Parameter ending: The ending; nil means that the program runs until it is cancelled.
  init(_ ending: CommandEnding?) { self.ending = ending }

  var runs: [Run] { log.withLock { $0 } }

  func run(
    _ command: String, input: Secret, within limit: Duration
  ) async throws -> CommandEnding {
    log.withLock { $0.append(Run(command: command, input: input.revealed(), limit: limit)) }
    if let ending { return ending }
    for await _ in AsyncStream<Void>.makeStream().stream {}
    throw CancellationError()
  }
}
