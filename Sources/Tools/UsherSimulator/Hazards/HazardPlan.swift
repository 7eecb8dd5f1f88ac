import JSONRPC
import UsherConfig
import UsherCore

/// Makes hazards happen at random times until the end.
final class HazardPlan {
  private let simulator: Simulator
  /// The methods that change something which is stored.
  private static let changing: Set<String> = [
    "flow.start", "flow.submit", "flow.cancel", "account.forget", "token.revoke",
  ]

  private let machine: Machine
  private let supervisor: Supervisor
  private let checks: AnswerChecks
  private let history: TokenHistory
  private let host: SandboxHost
  private let network: ProviderNetwork
  private let operatorClient: SimulatedClient
  private let clients: [SimulatedClient]
  private let outside: SimulatorExecutor
  private enum Change: CaseIterable {
    /// A call that changes something which is stored.
    case call
    /// A reply of a provider, with or without tokens.
    case reply
    case tokens
  }

  /// What happens after the next change of a kind.
  private var afterNextChange: (kind: Change, act: () -> Void)?
  /// Whether hazards are over.
  private(set) var isCalm = false

  init(_ parts: Simulation.Machinery, _ clients: [SimulatedClient]) {
    self.clients = clients
    simulator = parts.simulator
    machine = parts.machine
    supervisor = parts.supervisor
    checks = parts.checks
    history = parts.history
    host = parts.host
    network = parts.network
    operatorClient = parts.operatorClient
    outside = SimulatorExecutor(simulator)
  }

  /// Chooses the hazards of a run.
  static func choose(seed: UInt64) -> Set<Hazard> {
    var random = RandomStream(seed: seed, for: "hazards")
    guard random.chance(90) else { return [] }
    return Set(Hazard.allCases.filter { _ in random.chance(50) })
  }

  func begin(_ hazards: Set<Hazard>) {
    if hazards.contains(.powerFailures) { failPowerAfterStarts() }
    network.onReply = { [self] hasTokens in
      somethingChanges(hasTokens ? [.reply, .tokens] : [.reply])
    }
    checks.onCall = { [self] call in
      if Self.changing.contains(call.method) { somethingChanges([.call]) }
    }
    for hazard in Hazard.allCases where hazards.contains(hazard) {
      let stream = Stream(RandomStream(seed: simulator.seed, for: hazard.rawValue))
      repeatedly(stream, pauses(between: hazard)) { [self] in cause(hazard, stream) }
    }
  }

  /// Ends all hazards and their consequences.
  func end() {
    isCalm = true
    afterNextChange = nil
    supervisor.diskRefusesSince = nil
    simulator.kernel.disk.heal()
    supervisor.isDiskFailing = false
    simulator.clockError = .zero
  }

  private final class Stream {
    var random: RandomStream
    init(_ random: RandomStream) { self.random = random }
  }

  private func pauses(between hazard: Hazard) -> ClosedRange<Duration> {
    switch hazard {
    case .network, .stops, .locks: .seconds(30) ... .seconds(3000)
    case .kills, .powerFailures, .disk: .seconds(10) ... .seconds(1000)
    case .clock, .reloads, .revocations: .seconds(20) ... .seconds(600)
    }
  }

  private func repeatedly(
    _ stream: Stream, _ pauses: ClosedRange<Duration>, _ act: @escaping () -> Void
  ) {
    simulator.after(stream.random.duration(pauses)) { [self] in
      guard !isCalm else { return }
      act()
      repeatedly(stream, pauses, act)
    }
  }

  private func cause(_ hazard: Hazard, _ stream: Stream) {
    switch hazard {
    case .network: break
    case .stops: supervisor.stop()
    case .kills: sometimesDuringChange(stream) { [self] in kill(stream) }
    case .powerFailures:
      sometimesDuringChange(stream) { [self] in
        machine.kill("the power fails", powerFailure: stream.random.next())
      }
    case .disk: sometimesDuringChange(stream) { [self] in failDisk(stream) }
    case .clock: setClock(stream)
    case .reloads: reload(stream)
    case .locks: lock(stream)
    case .revocations: revoke(stream)
    }
  }

  /// Lets something happen now, or in half of the cases shortly after a call or a reply of a
  /// provider changes something, while all clients ask for it.
  private func sometimesDuringChange(_ stream: Stream, _ act: @escaping () -> Void) {
    guard stream.random.chance(50) else { return act() }
    let strike = { [self] in
      let delay = stream.random.duration(.microseconds(1) ... .milliseconds(5))
      simulator.trace.note("in \(delay.microseconds) µs, while all clients call:")
      allClientsCall(stream)
      simulator.after(delay) { [self] in if !isCalm { act() } }
    }
    afterNextChange = (stream.random.pick(Change.allCases), strike)
  }

  private func allClientsCall(_ stream: Stream, forTokens: Bool = true) {
    for client in clients {
      simulator.after(stream.random.duration(.microseconds(1) ... .milliseconds(5))) {
        client.askForLists()
        if forTokens { client.askForTokens() }
      }
    }
  }

  /// Records that a call or a reply of a provider changes something.
  private func somethingChanges(_ kinds: [Change]) {
    guard let next = afterNextChange, kinds.contains(next.kind) else { return }
    afterNextChange = nil
    next.act()
  }

  /// Lets the power fail soon after some starts: the daemon may have read what a killed daemon has
  /// written and did not live to sync.
  private func failPowerAfterStarts() {
    let stream = Stream(RandomStream(seed: simulator.seed, for: "power after starts"))
    machine.onReady = { [self] in
      guard !isCalm, stream.random.chance(30) else { return }
      let delay = stream.random.duration(.milliseconds(1) ... .seconds(10))
      // Calls for tokens may cause a write, which syncs what was written before.
      if stream.random.chance(70) { allClientsCall(stream, forTokens: stream.random.chance(30)) }
      simulator.after(delay) { [self] in
        guard !isCalm else { return }
        machine.kill("the power fails soon after a start", powerFailure: stream.random.next())
      }
    }
  }

  private func kill(_ stream: Stream) {
    guard let incarnation = machine.incarnation, !incarnation.hasEnded else { return }
    if stream.random.chance(30) { return machine.kill("between two steps") }
    // A kill is no failure of the disk: the daemon does not live to see the error.
    supervisor.diskRefusesSince = nil
    simulator.kernel.disk.fail(.stops, UInt64(stream.random.number(0...60)))
  }

  private func failDisk(_ stream: Stream) {
    supervisor.isDiskFailing = true
    if stream.random.chance(25) {
      // From nothing up to about the size of the daemon's reserve.
      let limit = stream.random.pick([0, 1000, 10_000, 100_000, 600_000])
      let room = stream.random.number(0...limit)
      simulator.trace.note("the disk: \(room) bytes are left")
      simulator.kernel.disk.fill(UInt64(room))
    } else {
      let failure = stream.random.pick([SimulatedDisk.Failure.failsOnce, .fails, .noDescriptors])
      let operations = stream.random.chance(50) ? 0 : UInt64(stream.random.number(1...40))
      simulator.trace.note("the disk: \(failure.rawValue) after \(operations) operations")
      simulator.kernel.disk.fail(failure, operations)
      let refuses = failure == .fails && operations == 0
      supervisor.diskRefusesSince = refuses ? simulator.now : nil
    }
    let lasts: ClosedRange<Duration> =
      supervisor.diskRefusesSince == nil
      ? .milliseconds(10) ... .seconds(300) : .seconds(30) ... .seconds(300)
    simulator.after(stream.random.duration(lasts)) { [self] in
      guard !isCalm else { return }
      simulator.trace.note("the disk: healed")
      supervisor.isDiskFailing = false
      supervisor.diskRefusesSince = nil
      simulator.kernel.disk.heal()
    }
  }

  private func setClock(_ stream: Stream) {
    let seconds = stream.random.pick([-86_400, -3600, -60, -1, 0, 1, 60, 3600, 86_400])
    simulator.trace.note("the wall clock is set: \(seconds) s wrong")
    simulator.clockError = .seconds(seconds)
    checks.acknowledged.wasClockSet = true
  }

  private func reload(_ stream: Stream) {
    let denied: Set<UInt32> =
      stream.random.chance(50) ? [] : [stream.random.pick(SimulatedUsers.names.keys.sorted())]
    reload(denied)
  }

  /// Denies tokens to users.
  func reload(_ denied: Set<UInt32>) {
    simulator.trace.note("the configuration denies tokens to \(denied.sorted())")
    let change = checks.access.denied.change()
    do {
      machine.config = try SimulatedConfig.load(denying: denied)
    } catch {
      return simulator.fail("the configuration of the simulator is invalid: \(error)")
    }
    let starts = machine.starts
    operatorClient.call("system.reload", [:]) { [self] answer in
      let isApplied = answer?["result"]?["problems"]?.arrayValue?.isEmpty == true
      if isApplied, starts == machine.starts {
        checks.access.denied.become(denied, at: simulator.now, by: change)
      }
    }
  }

  private func lock(_ stream: Stream) {
    let change = checks.access.isLocked.change()
    operatorClient.call("system.lock", [:]) { [self] answer in
      guard answer?["result"] != nil else { return }
      checks.access.isLocked.become(true, at: simulator.now, by: change)
      if !isCalm, stream.random.chance(50) { restart(stream) }
    }
    simulator.after(stream.random.duration(.seconds(1) ... .seconds(100))) { [self] in unlock() }
  }

  /// Ends the daemon, in one way or another. A locked daemon must be locked when it starts again.
  private func restart(_ stream: Stream) {
    if stream.random.chance(50) { return supervisor.stop() }
    machine.kill(
      "while the daemon is locked",
      powerFailure: stream.random.chance(50) ? stream.random.next() : nil)
  }

  /// Unlocks the daemon; tries again until it succeeds.
  func unlock() {
    let change = checks.access.isLocked.change()
    operatorClient.call("system.unlock", [:]) { [self] answer in
      if answer?["result"] != nil {
        checks.access.isLocked.become(false, at: simulator.now, by: change)
      } else {
        simulator.after(.seconds(5)) { [self] in unlock() }
      }
    }
  }

  private func revoke(_ stream: Stream) {
    let alive = history.grants.filter {
      !$0.mayBeUnusable && $0.provider == OpenIDWire().prefix
    }
    guard let grant = alive.randomElement(using: &stream.random), let token = grant.refreshToken
    else { return }
    simulator.trace.note("\(grant.account) revokes a sign-in at the provider")
    grant.revoke()
    Task(executorPreference: outside) { [host] in
      _ = await host.submit([("token", token), ("client_id", "usher")], to: "/oidc/revoke")
    }
  }
}
