import UsherAPI
import UsherCore

/// Buffer of audit events that are not written yet. It decides which events become rows of their
/// own and which are counted in one row (Audit.md § What is recorded).
///
/// It reads no clock and writes nothing; its caller passes the times.
struct AuditAggregator {
  /// A future audit row, for one call or for several equal calls.
  struct Entry: Sendable, Equatable {
    /// The time of the call; if the row represents several calls, the time of the last one.
    var at: Timestamp
    var event: AuditEvent
    var caller: AuditedCaller
    var count = 1
  }

  /// The number of unwritten rows at which the buffer is full and RPC calls are refused.
  static let maxWaiting = 4096
  /// The maximum number of rows per user and minute for calls that succeed and are not aggregated.
  static let maxSingleRows = 600
  /// The maximum number of rows per user and minute for calls that are denied or fail. Any user can
  /// cause such calls, and their rows displace the oldest rows of the log.
  static let maxFailedRows = 60
  /// The maximum number of different calls that are counted at a time. If there are more, the
  /// counts become rows before the minute ends.
  private static let maxAggregated = 4096

  /// The rows to be written, the oldest first.
  private(set) var waiting: [Entry] = []
  /// For each aggregated call of this minute, its index in `counts`.
  private var repeats: [Repeat: Int] = [:]
  /// For each aggregated call, the number and the last time of its repetitions in this minute. A
  /// repetition changes nothing else, so that it is cheap.
  private var counts: [Count] = []
  /// For each element of ``counts``, the row for the repetitions; nil before the first one.
  private var repeatedRows: [Entry?] = []
  /// A number that changes whenever ``counts`` is emptied, so that an old ``Position`` is
  /// recognized.
  private var round = 0
  private var singles: [Single: Int] = [:]
  /// Calls beyond the limits for single rows, counted together by user, method and decision.
  private var overflow: [OverflowKey: Entry] = [:]
  /// The current minute, as the number of minutes since 1970.
  private var minute: Int64?

  private struct Count {
    var calls = 0
    var at = Timestamp.earliest
  }

  /// Position of a call in ``counts``, valid until the counts are emptied.
  struct Position: Sendable, Equatable {
    fileprivate let round: Int
    fileprivate let index: Int
  }

  /// Outcome of recording an RPC call that equals an earlier one.
  enum RepeatOutcome: Sendable, Equatable {
    case counted
    /// The call became an audit row of its own, because it is the first equal call of its minute.
    case written
    /// The buffer is full: the RPC call must not be served.
    case refused
  }

  /// The number of rows that are not written, including those that the counts would become now.
  var unwritten: Int { waiting.count + counts.count { $0.calls > 0 } + overflow.count }

  var isFull: Bool { waiting.count >= Self.maxWaiting }

  /// Whether there are counts, which become rows at the end of the minute.
  var isCounting: Bool { !repeats.isEmpty || !overflow.isEmpty }

  mutating func record(_ event: AuditEvent, by caller: AuditedCaller, at now: Timestamp) {
    let event = event.shortened
    advance(to: now)
    if event.isRepeatable {
      _ = count(event, caller, now)
    } else {
      add(event, caller, now)
    }
  }

  /// Records an RPC call that equals an earlier one.
  mutating func recordRepeat(_ call: inout AuditRepeat, at now: Timestamp) -> RepeatOutcome {
    if isFull { return .refused }
    advance(to: now)
    if let position = call.position, position.round == round, counts[position.index].calls > 0 {
      counts[position.index].calls += 1
      counts[position.index].at = now
      return .counted
    }
    let known = repeats.count
    call.position = count(call.event, call.caller, now)
    return repeats.count == known ? .counted : .written
  }

  /// Ends the minute if `now` is not in it: the counts become rows.
  mutating func advance(to now: Timestamp) {
    let present = now.milliseconds / 60_000
    guard minute != present else { return }
    close()
    minute = present
  }

  /// Turns the counts into rows now, unless the buffer is full.
  mutating func close() {
    singles = [:]
    guard !isFull else { return }
    var rows = Array(overflow.values)
    for (count, entry) in zip(counts, repeatedRows) {
      guard var row = entry else { continue }
      (row.count, row.at) = (count.calls, count.at)
      rows.append(row)
    }
    waiting += rows.sorted { $0.at < $1.at }
    repeats = [:]
    counts = []
    repeatedRows = []
    round += 1
    overflow = [:]
  }

  /// Removes the oldest rows because they have been written.
  mutating func drop(_ count: Int) { waiting.removeFirst(count) }

  private mutating func count(
    _ event: AuditEvent, _ caller: AuditedCaller, _ now: Timestamp
  ) -> Position {
    let key = Repeat(event: event, caller: caller)
    if let index = repeats[key] {
      counts[index].calls += 1
      counts[index].at = now
      repeatedRows[index] = Entry(at: now, event: event, caller: caller)
      return Position(round: round, index: index)
    }
    if repeats.count >= Self.maxAggregated { close() }
    repeats[key] = counts.count
    counts.append(Count())
    repeatedRows.append(nil)
    waiting.append(Entry(at: now, event: event, caller: caller))
    return Position(round: round, index: counts.count - 1)
  }

  private mutating func add(_ event: AuditEvent, _ caller: AuditedCaller, _ now: Timestamp) {
    let isFailure = event.decision == .denied || event.failure != nil
    let single = Single(uid: caller.uid, isFailure: isFailure)
    let number = singles[single, default: 0]
    if number < (isFailure ? Self.maxFailedRows : Self.maxSingleRows), !isFull {
      singles[single] = number + 1
      waiting.append(Entry(at: now, event: event, caller: caller))
      return
    }
    let key = OverflowKey(single: single, method: event.method, decision: event.decision)
    let count = (overflow[key]?.count ?? 0) + 1
    overflow[key] = Entry(at: now, event: event, caller: caller, count: count)
  }
}

extension AuditEvent {
  /// Whether equal calls are counted in one row.
  var isRepeatable: Bool {
    failure == nil && decision == .allowed
      && Methods.traits(of: method).audit == .everythingAggregated
  }

  /// The event with long texts truncated, because a denied call may name anything.
  var shortened: AuditEvent {
    func isLong(_ text: String?) -> Bool { (text?.utf8.count ?? 0) > Self.maxTextBytes }
    guard
      isLong(provider?.rawValue) || isLong(kind) || isLong(account?.rawValue) || isLong(scope)
        || isLong(audience) || isLong(target)
    else { return self }
    var event = self
    event.provider = provider.map { ProviderName(Self.shortened($0.rawValue)) }
    event.kind = kind.map(Self.shortened)
    event.account = account.map { AccountID(Self.shortened($0.rawValue)) }
    event.scope = scope.map(Self.shortened)
    event.audience = audience.map(Self.shortened)
    event.target = target.map(Self.shortened)
    return event
  }

  private static let maxTextBytes = 512

  private static func shortened(_ text: String) -> String {
    String(decoding: text.utf8.prefix(maxTextBytes), as: UTF8.self)
  }
}

/// Key of equal calls: same caller, same request and result, same policy rule.
private struct Repeat: Hashable {
  let event: AuditEvent
  let caller: AuditedCaller

  /// Hashes only a few members, because this runs on each aggregated call.
  func hash(into hasher: inout Hasher) {
    hasher.combine(event.account)
    hasher.combine(event.method)
    hasher.combine(caller)
  }
}

/// Key of the per-user limits for single rows.
private struct Single: Hashable {
  let uid: UInt32
  let isFailure: Bool
}

/// Key by which the calls beyond these limits are counted together.
private struct OverflowKey: Hashable {
  let single: Single
  let method: String
  let decision: AuditEvent.Decision
}
