import UsherStore
import UsherSystem

/// A user or owner for which limits are counted.
protocol LimitHolder: Hashable, Sendable {
  /// Returns the holder whose limits apply: for a subordinate id the user to whom the id belongs,
  /// otherwise the holder itself.
  func limitHolder(_ users: SubordinateUsers) -> Self
}

extension Owner: LimitHolder {
  func limitHolder(_ users: SubordinateUsers) -> Owner {
    guard uid != Owner.anyUser else { return self }
    return Owner(realm: realm, uid: users.owner(of: uid), client: client)
  }
}

extension LocalPerson: LimitHolder {
  func limitHolder(_ users: SubordinateUsers) -> LocalPerson {
    LocalPerson(realm: realm, uid: users.owner(of: uid))
  }
}

/// Values for each user or owner, which can be read together for the holders that share a limit: a
/// user and the user's subordinate ids. The values of such a group are found without visiting other
/// holders.
struct SharedLimits<Holder: LimitHolder, Value: Sendable>: Sendable {
  private(set) var values: [Holder: Value] = [:]
  /// The holders with subordinate ids, by the user whose limits apply to them.
  private var subordinates: [Holder: Set<Holder>] = [:]
  private var users = SubordinateUsers()

  subscript(holder: Holder) -> Value? {
    get { values[holder] }
    _modify {
      let wasKept = values[holder] != nil
      yield &values[holder]
      let isKept = values[holder] != nil
      if isKept != wasKept { count(holder, isKept: isKept) }
    }
  }

  subscript(holder: Holder, or fresh: @autoclosure () -> Value) -> Value {
    get { values[holder] ?? fresh() }
    _modify {
      if values[holder] == nil {
        values[holder] = fresh()
        count(holder, isKept: true)
      }
      yield &values[holder, default: fresh()]
    }
  }

  /// Returns the values of all holders that share their limits with the given holder.
  ///
  /// - Parameter users: The current map of subordinate ids. If it has changed since the last call,
  ///   all holders are grouped again.
  mutating func sharing(with holder: Holder, _ users: SubordinateUsers) -> [Value] {
    if users != self.users { regroup(by: users) }
    let first = holder.limitHolder(users)
    var all = subordinates[first].map { $0.compactMap { values[$0] } } ?? []
    if first.limitHolder(users) == first, let own = values[first] { all.append(own) }
    return all
  }

  private mutating func regroup(by users: SubordinateUsers) {
    self.users = users
    subordinates = [:]
    for holder in values.keys { count(holder, isKept: true) }
  }

  private mutating func count(_ holder: Holder, isKept: Bool) {
    let first = holder.limitHolder(users)
    guard first != holder else { return }
    if isKept {
      subordinates[first, default: []].insert(holder)
    } else {
      subordinates[first]?.remove(holder)
      if subordinates[first]?.isEmpty == true { subordinates[first] = nil }
    }
  }
}
