import UsherCore

/// A line with the remaining time, shown above a question until the question is answered.
///
/// On a screen the line is overwritten every second. Without one, the line and the question are
/// printed again when the time is over.
struct Countdown: Sendable {
  typealias Sleep = @Sendable (Duration) async throws -> Void

  /// The longest sleep between two readings of the clock, because the clock may be set meanwhile.
  private static let longestPause = Duration.seconds(60)

  /// The time at which the countdown ends.
  let end: Timestamp
  /// The time after which the line no longer changes.
  let lastChange: Timestamp
  let line: @Sendable (Timestamp) -> String

  private enum Heard {
    case answer(String?)
    /// The line will not change any more, or the task was cancelled.
    case told
    /// The time is over, and the line on the screen could not be overwritten to say so.
    case isOver
  }

  /// Asks the question with the line above it. Returns nil at the end of the input.
  func answer(
    to question: String, on console: Console, _ clock: any Clock, _ sleep: @escaping Sleep
  ) async throws -> String? {
    while true {
      console.note(line(clock.now()))
      console.prompt(question)
      switch try await listen(console, clock, sleep) {
      case .answer(let answer): return answer
      case .told, .isOver: try Task.checkCancellation()
      }
    }
  }

  private func listen(
    _ console: Console, _ clock: any Clock, _ sleep: @escaping Sleep
  ) async throws -> Heard {
    try await withThrowingTaskGroup(of: Heard.self) { group in
      defer { group.cancelAll() }
      group.addTask { .answer(try await console.readLine()) }
      group.addTask { await tell(console, clock, sleep) }
      while let heard = try await group.next() {
        switch heard {
        case .answer: return heard
        case .told: continue
        case .isOver:
          group.cancelAll()
          // An answer that arrives at the same time counts.
          guard case .success(.answer(let answer))? = await group.nextResult() else { return heard }
          return .answer(answer)
        }
      }
      return .told
    }
  }

  private func tell(_ console: Console, _ clock: any Clock, _ sleep: Sleep) async -> Heard {
    var told = line(clock.now())
    var isOver = clock.now() >= end
    while clock.now() < lastChange {
      do { try await sleep(pause(at: clock.now(), console.canRewrite)) } catch { return .told }
      let now = clock.now()
      let line = line(now)
      let isTold = line == told || console.rewriteLineAbove(line)
      if !isTold && !isOver && now >= end { return .isOver }
      (told, isOver) = (line, now >= end)
    }
    return .told
  }

  /// Returns the time until the line may change.
  private func pause(at now: Timestamp, _ isLive: Bool) -> Duration {
    let next = now < end ? end : lastChange
    guard isLive else { return min(next - now, Self.longestPause) }
    let part = (next - now).milliseconds % 1000
    return .milliseconds(part == 0 ? 1000 : part)
  }
}
