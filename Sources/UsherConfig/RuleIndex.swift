/// Finds the rules that match a caller without a look at all the others.
///
/// A rule is kept under one of the things that it asks for: the one that the fewest rules share.
struct RuleIndex: Sendable {
  fileprivate enum Key: Hashable, Sendable {
    case unit(String)
    case executable(String)
    case user(UInt32)
    case group(UInt32)
  }

  private let rules: [PolicyRule]
  /// Places in ``rules``, each in one of the lists.
  private let places: [Key: [Int]]
  /// Those that ask for a unit or a program.
  private let byProcess: [PolicyRule]

  /// - Parameter rules: In the order in which they are tried.
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

  /// The first that may match by what the kernel does not tell of the caller's process.
  func firstUndecided(_ caller: CallerIdentity) -> PolicyRule? {
    if caller.isUnitTold, caller.isExecutableTold { return nil }
    return byProcess.first { $0.mayMatch(caller) }
  }

  /// The first that may match a process like the caller's of a user that is unknown.
  func first(
    aboutAnyUserWithProcessOf caller: CallerIdentity, notAmong others: [PolicyRule]
  ) -> PolicyRule? {
    rules.first { rule in
      rule.mayMatch(anyUserWithProcessOf: caller) && !others.contains { $0 === rule }
    }
  }

  /// Those that match, in their order.
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
  /// Everything a rule may ask for that it has, each once.
  fileprivate var keys: Set<RuleIndex.Key> {
    var keys = Set((groups + [gid]).map { RuleIndex.Key.group($0) })
    keys.insert(.user(uid))
    if let unit { keys.insert(.unit(unit)) }
    if let executable { keys.insert(.executable(executable)) }
    return keys
  }
}
