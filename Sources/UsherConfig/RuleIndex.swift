/// An index that finds the client rules for a caller without examining all rules.
///
/// Each rule is stored under one of its conditions: the one that the fewest rules share.
struct RuleIndex: Sendable {
  fileprivate enum Key: Hashable, Sendable {
    case unit(String)
    case executable(String)
    case user(UInt32)
    case group(UInt32)
  }

  private let rules: [PolicyRule]
  /// The indices of the rules in ``rules``, by the condition under which they are stored.
  private let places: [Key: [Int]]
  /// The rules with a condition on the unit or the program.
  private let byProcess: [PolicyRule]

  /// Creates the index.
  ///
  /// - Parameter rules: The rules in the order in which they are tried.
  init(_ rules: [PolicyRule]) {
    self.rules = rules
    var counts: [Key: Int] = [:]
    for rule in rules {
      for key in rule.keys { counts[key, default: 0] += 1 }
    }
    var places: [Key: [Int]] = [:]
    for (place, rule) in rules.enumerated() {
      let rarest = rule.keys.min { counts[$0, default: 0] < counts[$1, default: 0] }
      if let rarest { places[rarest, default: []].append(place) }
      if case .group? = rarest {
        for member in rule.members { places[.user(member), default: []].append(place) }
      }
    }
    self.places = places
    byProcess = rules.filter { $0.setting.match.unit != nil || $0.setting.match.executable != nil }
  }

  /// Returns the first rule that may match the caller but whose condition on the unit or program
  /// cannot be decided, because the kernel does not report that.
  func firstUndecided(_ caller: CallerIdentity) -> PolicyRule? {
    if caller.isUnitKnown, caller.isExecutableKnown { return nil }
    return byProcess.first { $0.mayMatch(caller) }
  }

  /// Returns the first rule that may match if an unknown user runs a process like the caller's.
  func first(
    aboutAnyUserWithProcessOf caller: CallerIdentity, notAmong others: [PolicyRule]
  ) -> PolicyRule? {
    rules.first { rule in
      rule.mayMatch(anyUserWithProcessOf: caller) && !others.contains { $0 === rule }
    }
  }

  /// Returns the rules that match the caller, in the order in which they are tried.
  func matching(_ caller: CallerIdentity) -> [PolicyRule] {
    let found = Set(caller.keys.flatMap { places[$0] ?? [] })
    return found.sorted().map { rules[$0] }.filter { $0.matches(caller) }
  }
}

extension PolicyRule {
  fileprivate var keys: [RuleIndex.Key] {
    [
      setting.match.unit.map { .unit($0) }, setting.match.executable.map { .executable($0) },
      user.map { .user($0) }, group.map { .group($0) },
    ].compactMap { $0 }
  }
}

extension CallerIdentity {
  /// All conditions of rules that this caller can meet.
  fileprivate var keys: Set<RuleIndex.Key> {
    var keys = Set((groups + [gid]).map { RuleIndex.Key.group($0) })
    keys.insert(.user(uid))
    if let unit { keys.insert(.unit(unit)) }
    if let executable { keys.insert(.executable(executable)) }
    return keys
  }
}
