import UsherCore

/// A line above a question that tells the time for as long as the question stands.
///
/// On a screen it is written over each second. Elsewhere the question is taken back and asked again
/// when the time is over, so that this stands above it.
struct Countdown: Sendable {
  typealias Sleep = @Sendable (Duration) async throws -> Void

  /// The longest pause between two looks at the clock, which may be set meanwhile.
  private static let longestPause = Duration.seconds(60)

  /// When the time is over.
  let end: Timestamp
  /// After this the line says the same for ever.
  let lastChange: Timestamp
  let line: @Sendable (Timestamp) -> String

  private enum Heard {
    case answer(String?)
    /// All there is to tell stands on the screen.
    case told
    /// The time is over, and the screen does not say so.
    case isOver
  }

  /// Asks, and tells the time above it. Nil at the end of the input.
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
          // An answer that was given at the same time counts.
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

  /// Until the line changes.
  private func pause(at now: Timestamp, _ isLive: Bool) -> Duration {
    let next = now < end ? end : lastChange
    guard isLive else { return min(next - now, Self.longestPause) }
    let part = (next - now).milliseconds % 1000
    return .milliseconds(part == 0 ? 1000 : part)
  }
}
