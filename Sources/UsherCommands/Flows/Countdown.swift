import UsherCore

/// A line with the remaining time, shown above a question until the question is answered.
///
/// On a screen the line is overwritten every second. Without a screen, the line and the question
/// are printed again when the time is over.
struct Countdown: Sendable {
  /// The longest sleep between two readings of the clock. It is limited because the clock may be
  /// set meanwhile.
  private static let maxPause = Duration.seconds(60)

  /// The time at which the countdown ends.
  let end: Timestamp
  /// The time after which the line no longer changes.
  let lastChange: Timestamp
  let line: @Sendable (Timestamp) -> String

  private enum Event {
    case answer(String?)
    /// The line will not change any more, or the task was cancelled. The countdown ends, but the
    /// question stays.
    case finished
    /// The time is over, and the line on the screen could not be overwritten to say so.
    case isOver
  }

  /// Asks the question with the countdown's line above it. Returns nil at the end of the input.
  func answer(to question: String, in context: CommandContext) async throws -> String? {
    while true {
      context.console.printMessage(line(context.environment.clock.now()))
      context.console.prompt(question)
      switch try await nextEvent(context) {
      case .answer(let answer): return answer
      case .finished, .isOver: try Task.checkCancellation()
      }
    }
  }

  private func nextEvent(_ context: CommandContext) async throws -> Event {
    try await withThrowingTaskGroup(of: Event.self) { group in
      defer { group.cancelAll() }
      group.addTask { .answer(try await context.console.readLine()) }
      group.addTask { await updateLine(context) }
      while let event = try await group.next() {
        switch event {
        case .answer: return event
        case .finished: continue
        case .isOver:
          group.cancelAll()
          // An answer that arrives at the same time as the end of the countdown counts.
          guard case .success(.answer(let answer))? = await group.nextResult() else { return event }
          return .answer(answer)
        }
      }
      return .finished
    }
  }

  private func updateLine(_ context: CommandContext) async -> Event {
    let console = context.console
    let (clock, sleep) = (context.environment.clock, context.environment.sleep)
    var shownLine = line(clock.now())
    var isOver = clock.now() >= end
    while clock.now() < lastChange {
      do { try await sleep(pause(at: clock.now(), console.canRewrite)) } catch { return .finished }
      let now = clock.now()
      let line = line(now)
      let isShown = line == shownLine || console.rewriteLineAbove(line)
      if !isShown && !isOver && now >= end { return .isOver }
      (shownLine, isOver) = (line, now >= end)
    }
    return .finished
  }

  /// Returns how long to sleep until the line may change.
  private func pause(at now: Timestamp, _ isLive: Bool) -> Duration {
    let next = now < end ? end : lastChange
    guard isLive else { return min(next - now, Self.maxPause) }
    let part = (next - now).milliseconds % 1000
    return .milliseconds(part == 0 ? 1000 : part)
  }
}
