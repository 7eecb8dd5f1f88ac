/// Finds out what it takes to violate a property: repeats a run with less time, fewer kinds of
/// hazards and fewer clients, and keeps each reduction after which the same property is violated.
package struct Shrinker {
  private let seed: UInt64
  private let run: (Simulation.Scope) throws -> Simulation.Outcome

  /// - Parameter run: Runs the seed with a scope.
  package init(seed: UInt64, run: @escaping (Simulation.Scope) throws -> Simulation.Outcome) {
    self.seed = seed
    self.run = run
  }

  /// Returns the smallest scope that was found, and its outcome.
  ///
  /// - Parameter outcome: The outcome of the run with `scope`, which has a finding.
  package func shrink(
    _ scope: Simulation.Scope, _ outcome: Simulation.Outcome
  ) throws -> (scope: Simulation.Scope, outcome: Simulation.Outcome) {
    var (scope, outcome) = (scope, outcome)
    var isSmaller = true
    while isSmaller {
      isSmaller = false
      for candidate in Self.candidates(for: scope, outcome) {
        let result = try run(candidate)
        guard let finding = result.finding, Self.isSame(finding, outcome.finding ?? "") else {
          continue
        }
        (scope, outcome) = (candidate, result)
        isSmaller = true
        break
      }
    }
    return (scope, outcome)
  }

  private static func candidates(
    for scope: Simulation.Scope, _ outcome: Simulation.Outcome
  ) -> [Simulation.Scope] {
    var candidates: [Simulation.Scope] = []
    func add(_ change: (inout Simulation.Scope) -> Void) {
      var candidate = scope
      change(&candidate)
      if candidate != scope { candidates.append(candidate) }
    }
    add { $0.seconds = min($0.seconds, Int(outcome.seconds) + 1) }
    for hazard in Hazard.allCases where scope.hazards.contains(hazard) {
      add { $0.hazards.remove(hazard) }
    }
    add { $0.clients = max(1, $0.clients / 2) }
    add { $0.clients = max(1, $0.clients - 1) }
    add { $0.seconds = max(1, $0.seconds / 2) }
    return candidates
  }

  /// Whether two findings are about the same property: they differ only in numbers.
  package static func isSame(_ one: String, _ other: String) -> Bool {
    let kinds = [one, other].map { $0.prefix(160).filter { !$0.isNumber } }
    return kinds[0] == kinds[1]
  }
}
