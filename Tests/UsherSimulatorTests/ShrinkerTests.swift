import Testing

@testable import UsherSimulator

@Suite("The shrinking of a simulated run", .timeLimit(.minutes(1)))
struct ShrinkerTests {
  private static func outcome(_ scope: Simulation.Scope, _ finding: String?) -> Simulation.Outcome {
    Simulation.Outcome(
      seed: 1, hash: 0, steps: 0, finding: finding, seconds: Double(scope.seconds), answers: [:],
      flows: [:], refreshes: 0, starts: 1, diskOperations: 0)
  }

  @Test("a run is shrunk to the hazards, the clients and the time that the finding needs")
  func shrinks() throws {
    var scope = Simulation.Scope(seed: 1, minutes: 20)
    scope.hazards = Set(Hazard.allCases)
    // A finding that needs kills, three clients and a minute.
    let shrinker = Shrinker(seed: 1) { scope in
      let isFound = scope.hazards.contains(.kills) && scope.clients >= 3 && scope.seconds >= 60
      return Self.outcome(scope, isFound ? "flow \(scope.clients) was lost" : nil)
    }
    let result = try shrinker.shrink(scope, Self.outcome(scope, "flow 20 was lost"))
    #expect(result.scope.hazards == [.kills])
    #expect(result.scope.clients == 3)
    #expect((60..<120).contains(result.scope.seconds))
    #expect(result.outcome.finding == "flow 3 was lost")
  }

  @Test("a reduction that violates another property is not kept")
  func otherFinding() throws {
    var scope = Simulation.Scope(seed: 1, minutes: 1)
    scope.hazards = [.kills]
    let shrinker = Shrinker(seed: 1) { Self.outcome($0, "the daemon does not stop") }
    let result = try shrinker.shrink(scope, Self.outcome(scope, "flow 20 was lost"))
    #expect(result.scope == scope)
  }
}
