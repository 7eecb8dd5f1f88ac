import UsherStore
import UsherSystem

/// A user, or an owner, whose limits are counted.
protocol LimitHolder: Hashable, Sendable {
  /// Returns the one whose limits count for this one: a subordinate id has those of its user, any other
  /// its own.
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

/// A value for each user, and the users that share one limit. It finds the values of these without looking
/// at the other users.
struct SharedLimits<Holder: LimitHolder, Value: Sendable>: Sendable {
  private(set) var values: [Holder: Value] = [:]
  /// The subordinate ids among the holders, by the user whose limits they have.
  private var subordinates: [Holder: Set<Holder>] = [:]
  private var users = SubordinateUsers()

  subscript(holder: Holder) -> Value? {
    get { values[holder] }
    _modify {
      let wasKept = values[holder] != nil
      yield &values[holder]
      let isKept = values[holder] != nil
      if isKept != wasKept { note(holder, isKept: isKept) }
    }
  }

  subscript(holder: Holder, or fresh: @autoclosure () -> Value) -> Value {
    get { values[holder] ?? fresh() }
    _modify {
      if values[holder] == nil {
        values[holder] = fresh()
        note(holder, isKept: true)
      }
      yield &values[holder, default: fresh()]
    }
  }

  /// Returns the values of all that have the same limits as one holder.
  ///
  /// - Parameter users: The subordinate ids in force. Where they have changed since the last call, each
  ///   holder is looked at once.
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
    for holder in values.keys { note(holder, isKept: true) }
  }

  private mutating func note(_ holder: Holder, isKept: Bool) {
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
