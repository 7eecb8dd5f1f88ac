import UsherAPI
import UsherCore

/// What has happened and is not written yet; decides what becomes a row of its own and what is
/// counted (Audit.md § What is recorded).
///
/// It reads no clock and writes nothing. Its moments are those of the calls.
struct AuditAggregator {
  /// One call, or several alike.
  struct Entry: Sendable, Equatable {
    /// Of several, the last one's.
    var at: Timestamp
    var note: AuditEvent
    var caller: AuditedCaller
    var count = 1
  }

  /// Rows that may wait before nothing more is let in.
  static let mostWaiting = 4096
  /// Rows of one user in a minute of calls that succeed and do not repeat.
  static let mostSingles = 600
  /// Rows of one user in a minute of calls that are denied or fail: they are to be had without any
  /// right, and drive out the oldest rows.
  static let mostFailures = 60
  /// Keys that are counted at a time; with more of them the minute ends early.
  private static let mostKeys = 4096

  /// What is to be written, the oldest first.
  private(set) var waiting: [Entry] = []
  /// Calls that succeed and repeat: where each is counted, in ``counts``.
  private var repeats: [Repeat: Int] = [:]
  /// Those after the first of this minute, and the last of them. A call changes nothing else.
  private var counts: [Count] = []
  /// What the last of them was, where there was one.
  private var counted: [Entry?] = []
  /// Another whenever ``counts`` begins anew.
  private var round = 0
  private var singles: [Single: Int] = [:]
  /// Those that are too many to be written one by one.
  private var surplus: [Surplus: Entry] = [:]
  /// Minutes since 1970.
  private var minute: Int64?

  private struct Count {
    var calls = 0
    var at = Timestamp.earliest
  }

  /// Where calls that are alike are counted, until the minute ends.
  struct Place: Sendable, Equatable {
    fileprivate let round: Int
    fileprivate let index: Int
  }

  /// What becomes of a call that is like one before.
  enum OnRepeat: Sendable, Equatable {
    case counted
    /// It is a row of its own: the first of a minute.
    case written
    /// There is no room: it must not be served.
    case refused
  }

  /// The rows that there are, and would be if the minute ended now.
  var unwritten: Int { waiting.count + counts.count { $0.calls > 0 } + surplus.count }

  var isFull: Bool { waiting.count >= Self.mostWaiting }

  /// Whether there is something that goes into a row when the minute ends.
  var isCounting: Bool { !repeats.isEmpty || !surplus.isEmpty }

  mutating func note(_ note: AuditEvent, by caller: AuditedCaller, at now: Timestamp) {
    let note = note.shortened
    turn(at: now)
    if note.isRepeatable {
      _ = count(note, caller, now)
    } else {
      add(note, caller, now)
    }
  }

  /// The same as ``note(_:by:at:)`` for a call that has been noted before.
  mutating func again(_ call: inout AuditRepeat, at now: Timestamp) -> OnRepeat {
    if isFull { return .refused }
    turn(at: now)
    if let place = call.place, place.round == round, counts[place.index].calls > 0 {
      counts[place.index].calls += 1
      counts[place.index].at = now
      return .counted
    }
    let known = repeats.count
    call.place = count(call.note, call.caller, now)
    return repeats.count == known ? .counted : .written
  }

  /// Ends the minute if `now` is not in it: what was counted goes into rows.
  mutating func turn(at now: Timestamp) {
    let present = now.milliseconds / 60_000
    guard minute != present else { return }
    close()
    minute = present
  }

  /// Ends the minute now, unless what was counted has no room yet.
  mutating func close() {
    singles = [:]
    guard !isFull else { return }
    var rows = Array(surplus.values)
    for (count, entry) in zip(counts, counted) {
      guard var row = entry else { continue }
      (row.count, row.at) = (count.calls, count.at)
      rows.append(row)
    }
    waiting += rows.sorted { $0.at < $1.at }
    repeats = [:]
    counts = []
    counted = []
    round += 1
    surplus = [:]
  }

  /// Drops the oldest rows: they are written.
  mutating func drop(_ count: Int) { waiting.removeFirst(count) }

  private mutating func count(
    _ note: AuditEvent, _ caller: AuditedCaller, _ now: Timestamp
  ) -> Place {
    let key = Repeat(note: note, caller: caller)
    if let index = repeats[key] {
      counts[index].calls += 1
      counts[index].at = now
      counted[index] = Entry(at: now, note: note, caller: caller)
      return Place(round: round, index: index)
    }
    if repeats.count >= Self.mostKeys { close() }
    repeats[key] = counts.count
    counts.append(Count())
    counted.append(nil)
    waiting.append(Entry(at: now, note: note, caller: caller))
    return Place(round: round, index: counts.count - 1)
  }

  private mutating func add(_ note: AuditEvent, _ caller: AuditedCaller, _ now: Timestamp) {
    let isFailure = note.decision == .denied || note.failure != nil
    let single = Single(uid: caller.uid, isFailure: isFailure)
    let number = singles[single, default: 0]
    if number < (isFailure ? Self.mostFailures : Self.mostSingles), !isFull {
      singles[single] = number + 1
      waiting.append(Entry(at: now, note: note, caller: caller))
      return
    }
    let key = Surplus(single: single, method: note.method, decision: note.decision)
    let count = (surplus[key]?.count ?? 0) + 1
    surplus[key] = Entry(at: now, note: note, caller: caller, count: count)
  }
}

extension AuditEvent {
  /// Whether calls that are alike share a row.
  var isRepeatable: Bool {
    failure == nil && decision == .allowed
      && Methods.traits(of: method).audit == .everythingAggregated
  }

  /// With no text longer than is of use: what is denied may be anything.
  var shortened: AuditEvent {
    func isLong(_ text: String?) -> Bool { (text?.utf8.count ?? 0) > Self.longest }
    guard
      isLong(provider?.rawValue) || isLong(kind) || isLong(account?.rawValue) || isLong(scope)
    else { return self }
    var note = self
    note.provider = provider.map { ProviderName(Self.shortened($0.rawValue)) }
    note.kind = kind.map(Self.shortened)
    note.account = account.map { AccountID(Self.shortened($0.rawValue)) }
    note.scope = scope.map(Self.shortened)
    return note
  }

  private static let longest = 512

  private static func shortened(_ text: String) -> String {
    String(decoding: text.utf8.prefix(longest), as: UTF8.self)
  }
}

/// Calls that are alike: same caller, asked for and given the same, by the same rule.
private struct Repeat: Hashable {
  let note: AuditEvent
  let caller: AuditedCaller

  static func == (left: Repeat, right: Repeat) -> Bool {
    let (one, other) = (left.note, right.note)
    return one.account == other.account && one.method == other.method && one.scope == other.scope
      && one.rule == other.rule && one.fields == other.fields && one.provider == other.provider
      && one.kind == other.kind && one.conditions == other.conditions
      && left.caller == right.caller
  }

  /// As cheap as it may be: this is done at every call.
  func hash(into hasher: inout Hasher) {
    hasher.combine(note.account)
    hasher.combine(note.method)
    hasher.combine(caller)
  }
}

/// What is limited together.
private struct Single: Hashable {
  let uid: UInt32
  let isFailure: Bool
}

/// Calls of one user that have in common what matters of very many.
private struct Surplus: Hashable {
  let single: Single
  let method: String
  let decision: AuditEvent.Decision
}
