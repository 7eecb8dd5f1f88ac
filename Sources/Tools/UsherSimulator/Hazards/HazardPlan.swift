import JSONRPC
import UsherConfig
import UsherCore

/// Makes hazards happen at random times until the end.
final class HazardPlan {
  private let simulator: Simulator
  private let machine: Machine
  private let supervisor: Supervisor
  private let checks: AnswerChecks
  private let history: TokenHistory
  private let host: SandboxHost
  private let operatorClient: SimulatedClient
  private let outside: SimulatorExecutor
  /// Whether hazards are over.
  private(set) var isCalm = false

  init(_ parts: Simulation.Machinery) {
    simulator = parts.simulator
    machine = parts.machine
    supervisor = parts.supervisor
    checks = parts.checks
    history = parts.history
    host = parts.host
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
    for hazard in Hazard.allCases where hazards.contains(hazard) {
      let stream = Stream(RandomStream(seed: simulator.seed, for: hazard.rawValue))
      repeatedly(stream, pauses(between: hazard)) { [self] in cause(hazard, stream) }
    }
  }

  /// Ends all hazards and their consequences.
  func end() {
    isCalm = true
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
    case .kills: kill(stream)
    case .powerFailures:
      machine.kill("the power fails", powerFailure: stream.random.next())
    case .disk: failDisk(stream)
    case .clock: setClock(stream)
    case .reloads: reload(stream)
    case .locks: lock(stream)
    case .revocations: revoke(stream)
    }
  }

  private func kill(_ stream: Stream) {
    guard let incarnation = machine.incarnation, !incarnation.hasEnded else { return }
    if stream.random.chance(30) { return machine.kill("between two steps") }
    // A kill is no failure of the disk: the daemon does not live to see the error.
    simulator.kernel.disk.fail(.stops, UInt64(stream.random.number(0...60)))
  }

  private func failDisk(_ stream: Stream) {
    let failures = SimulatedDisk.Failure.allCases.filter { $0 != .stops }
    let failure = stream.random.pick(failures)
    simulator.trace.note("the disk: \(failure.rawValue)")
    supervisor.isDiskFailing = true
    simulator.kernel.disk.fail(failure, UInt64(stream.random.number(0...40)))
    simulator.after(stream.random.duration(.milliseconds(10) ... .seconds(100))) { [self] in
      guard !isCalm else { return }
      simulator.trace.note("the disk: healed")
      supervisor.isDiskFailing = false
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
    }
    simulator.after(stream.random.duration(.seconds(1) ... .seconds(100))) { [self] in unlock() }
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
    let alive = history.grants.filter { !$0.mayBeUnusable }
    guard let grant = alive.randomElement(using: &stream.random), let token = grant.refreshToken
    else { return }
    simulator.trace.note("\(grant.account) revokes a sign-in at the provider")
    grant.revoke()
    Task(executorPreference: outside) { [host] in
      _ = await host.submit([("token", token), ("client_id", "usher")], to: "/oidc/revoke")
    }
  }
}
