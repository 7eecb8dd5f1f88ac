import Testing
import UsherTestKit

@Suite("The simulator", .mayBlock, .timeLimit(.minutes(10)))
struct SimulationTests {
  @Test("three seeds violate no property, and take the same steps when they are repeated")
  func seeds() throws {
    let hazards = "network,kills,powerFailures,disk,reloads,locks,revocations"
    let end = try run(
      BuiltProduct.path("usher-sim"),
      ["--seeds", "1..3", "--minutes", "2", "--twice", "--hazards", hazards])
    #expect(end.status == 0, "\(end.output)\(end.errors)")
    #expect(end.output.contains("3 seeds"))
    // A run in which nothing happens would prove nothing.
    for answer in ["token.get ok", "flow.start ok", "account.list ok"] {
      #expect(end.output.contains(answer))
    }
  }

  @Test("usher-sim refuses options with which it cannot run", arguments: ["2..1", "x..3", "7"])
  func options(_ seeds: String) throws {
    let end = try run(BuiltProduct.path("usher-sim"), ["--seeds", seeds])
    #expect(end.status == 64)
    #expect(end.errors.contains("--seeds"))
  }
}
