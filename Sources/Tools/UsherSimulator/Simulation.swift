import UsherConfig

/// One run of a seed: a daemon, its clients and providers, for some simulated time.
package struct Simulation {
  /// What a run is made of. A run that violates a property is repeated with less of it, to find out
  /// what it takes.
  package struct Scope: Sendable, Equatable {
    /// The simulated time for which the clients act.
    package var seconds: Int
    package var clients = 20
    package var hazards: Set<Hazard>

    /// The scope that a seed determines.
    package init(seed: UInt64, minutes: Int) {
      seconds = minutes * 60
      hazards = HazardPlan.choose(seed: seed)
    }
  }

  /// The result of a run.
  package struct Outcome: Sendable, Codable {
    package var seed: UInt64
    /// Equal for two runs of the seed by the same build.
    package var hash: UInt64
    package var steps: Int
    /// The violated property; nil if there is none.
    package var finding: String?
    /// The simulated time in seconds.
    package var seconds: Double
    /// The number of answers by method and the reason of the error.
    package var answers: [String: Int]
    /// The number of flows by provider, kind and end.
    package var flows: [String: Int]
    package var refreshes: Int
    package var starts: Int
    /// The number of simulated operations on the disk.
    package var diskOperations: UInt64
  }

  /// The parts of a run.
  struct Machinery {
    let simulator: Simulator
    let machine: Machine
    let supervisor: Supervisor
    let network: ProviderNetwork
    let host: SandboxHost
    let history: TokenHistory
    let checks: AnswerChecks
    let operatorClient: SimulatedClient
  }

  let parts: Machinery
  let plan: HazardPlan
  let clients: [SimulatedClient]
  private let scope: Scope
  var hazards: Set<Hazard> { scope.hazards }

  /// - Parameters:
  ///   - run: The number of the run among those of this process.
  ///   - directory: An empty directory for the daemon's files.
  ///   - print: Prints a line of the trace; nil if the trace is not asked for.
  package init(
    seed: UInt64, run: Int, directory: String, scope: Scope, kernel: SimulatedKernel,
    print: ((String) -> Void)?
  ) throws {
    self.scope = scope
    let simulator = Simulator(seed: seed, kernel: kernel, print: print)
    let host = try SandboxHost(simulator)
    let history = TokenHistory(simulator)
    host.configure(simulator, history.provided)
    let network = ProviderNetwork(
      simulator, host, history, hasFaults: scope.hazards.contains(.network))
    let machine = try Machine(
      simulator, network, directory: directory, config: try SimulatedConfig.load())
    history.clock = { .init(boot: machine.boots, error: simulator.clockError) }
    let supervisor = Supervisor(simulator, machine, history)
    machine.onKill = {
      history.daemonWasKilled()
      supervisor.diskRefusesSince = nil
    }
    let checks = AnswerChecks(simulator, history)
    history.wasClockSet = { checks.acknowledged.wasClockSet }
    history.wasEndAskedFor = { checks.acknowledged.wasEndAskedFor($0, since: $1) }
    history.diskRefusesSince = { supervisor.diskRefusesSince }
    if !scope.hazards.contains(.network) { history.mostTimeToSend = 5_000_000_000 }
    let person = Person(simulator, host, checks)
    let client = { SimulatedClient($0, run: run, simulator, machine, person, checks) }
    clients = (1...scope.clients).map(client)
    parts = Machinery(
      simulator: simulator, machine: machine, supervisor: supervisor,
      network: network, host: host, history: history, checks: checks, operatorClient: client(0))
    plan = HazardPlan(parts, clients)
  }

  package func run() throws -> Outcome {
    let simulator = parts.simulator
    let operationsBefore = simulator.kernel.disk.operations()
    simulator.trace.note("hazards: \(scope.hazards.map(\.rawValue).sorted())")
    simulator.afterLoops = { [clients, parts] in
      for client in clients + [parts.operatorClient] { client.read() }
    }
    start()
    let end = UInt64(scope.seconds) * 1_000_000_000
    for client in clients { simulator.after(.seconds(1)) { client.live(until: end) } }
    plan.begin(scope.hazards)
    parts.host.changeNonces(simulator) { [network = parts.network] in network.isCalm }
    simulator.run(until: end)
    finish()
    return Outcome(
      seed: simulator.seed, hash: simulator.trace.hash, steps: simulator.trace.steps,
      finding: simulator.finding, seconds: Double(simulator.now) / 1e9,
      answers: parts.checks.counts, flows: parts.checks.ends.counts,
      refreshes: parts.history.refreshes,
      starts: parts.machine.starts,
      diskOperations: simulator.kernel.disk.operations() - operationsBefore)
  }
}
