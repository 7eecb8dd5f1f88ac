import JSONRPC
import UsherConfig
import UsherCore
import UsherFlows

extension FuzzTarget {
  /// The flows of a provider type under any answers of the provider, from each of their stored
  /// states. An ignored event changes nothing; a new state survives storing; texts for people have
  /// no control character and no secret that the provider's answers did not show; a page for the
  /// browser is http or https.
  ///
  /// The first line of an input is the name of the state; another text chooses any state. Each
  /// other line is an event (``FlowDriver``).
  static func providerAnswers(_ type: ProviderType) -> FuzzTarget {
    FuzzTarget("answers-\(type.rawValue)", words: ["UsherFlows/\(type.rawValue)"]) { input in
      let states = FlowStates.all.filter { $0.provider.settings.type == type }
      let lines = input.lines
      let name = lines[0].text
      let number = lines[0].reduce(into: UInt64(0)) { $0 = $0 &* 31 &+ UInt64($1) }
      let state =
        states.first { $0.name == name } ?? states[Int(number % UInt64(states.count))]
      try run(lines.dropFirst().prefix(24), from: state, state.machine)
    }
  }
}

private func run<Machine: FlowMachine>(
  _ lines: ArraySlice<[UInt8]>, from state: FlowStates.Stored, _ type: Machine.Type
) throws {
  var driver = try FlowDriver<Machine>(state)
  guard try driver.receive(.daemon(.resumed)) else { return }
  for line in lines {
    guard let event = driver.event(line) else { continue }
    guard try driver.receive(event) else { return }
  }
}
