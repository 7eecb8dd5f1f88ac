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
      let wasPresent = values[holder] != nil
      yield &values[holder]
      let isPresent = values[holder] != nil
      if isPresent != wasPresent { count(holder, isPresent: isPresent) }
    }
  }

  subscript(holder: Holder, or fresh: @autoclosure () -> Value) -> Value {
    get { values[holder] ?? fresh() }
    _modify {
      if values[holder] == nil {
        values[holder] = fresh()
        count(holder, isPresent: true)
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
    let holderOfLimits = holder.limitHolder(users)
    var all = subordinates[holderOfLimits].map { $0.compactMap { values[$0] } } ?? []
    if holderOfLimits.limitHolder(users) == holderOfLimits, let own = values[holderOfLimits] {
      all.append(own)
    }
    return all
  }

  private mutating func regroup(by users: SubordinateUsers) {
    self.users = users
    subordinates = [:]
    for holder in values.keys { count(holder, isPresent: true) }
  }

  private mutating func count(_ holder: Holder, isPresent: Bool) {
    let holderOfLimits = holder.limitHolder(users)
    guard holderOfLimits != holder else { return }
    if isPresent {
      subordinates[holderOfLimits, default: []].insert(holder)
    } else {
      subordinates[holderOfLimits]?.remove(holder)
      if subordinates[holderOfLimits]?.isEmpty == true { subordinates[holderOfLimits] = nil }
    }
  }
}
