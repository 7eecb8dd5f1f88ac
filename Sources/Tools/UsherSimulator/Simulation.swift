/// One run of a seed: a daemon, its clients and providers, for some simulated time.
package struct Simulation {
  /// The result of a run.
  package struct Outcome: Sendable {
    package var seed: UInt64
    /// Equal for two runs of the seed by the same build.
    package var hash: UInt64
    package var steps: Int
    /// The violated property; nil if there is none.
    package var finding: String?
    /// The number of answers by method and error code.
    package var answers: [String: Int]
    package var refreshes: Int
    package var starts: Int
  }

  private static let clients = 20

  let simulator: Simulator
  let machine: Machine
  let network: ProviderNetwork
  let history: TokenHistory
  let checks: AnswerChecks
  let clients: [SimulatedClient]
  /// The times of the restarts.
  let restarts: Pauses
  private let length: UInt64

  /// - Parameters:
  ///   - directory: An empty directory for the daemon's files.
  ///   - minutes: The simulated time for which the clients act.
  ///   - print: Prints a line of the trace; nil if the trace is not asked for.
  package init(
    seed: UInt64, directory: String, minutes: Int, kernel: SimulatedKernel,
    print: ((String) -> Void)?
  ) throws {
    simulator = Simulator(seed: seed, kernel: kernel, print: print)
    let host = try SandboxHost(simulator)
    host.configure(simulator)
    history = TokenHistory(simulator)
    network = ProviderNetwork(simulator, host, history)
    machine = try Machine(simulator, network, directory: directory, config: Self.config)
    checks = AnswerChecks(simulator, history)
    let person = Person(simulator, host)
    let (simulator, machine, checks) = (simulator, machine, checks)
    clients = (1...Self.clients).map { SimulatedClient($0, simulator, machine, person, checks) }
    restarts = Pauses(RandomStream(seed: seed, for: "restarts"))
    length = UInt64(minutes) * 60_000_000_000
  }

  private static let config = """
    [[provider]]
    name = "demo"
    type = "oidc"
    issuer = "\(SandboxHost.issuer)"
    client_id = "usher"
    scopes = ["openid", "profile", "email", "offline_access"]
    redirect = "loopback"

    [limits]
    flow_starts_per_minute = 10000
    """

  package func run() throws -> Outcome {
    try start()
    for client in clients {
      simulator.after(.seconds(1)) { [length] in client.live(until: length) }
    }
    simulator.afterLoops = { [clients] in for client in clients { client.read() } }
    scheduleRestart()
    simulator.run(until: length)
    try finish()
    return Outcome(
      seed: simulator.seed, hash: simulator.trace.hash, steps: simulator.trace.steps,
      finding: simulator.finding,
      answers: checks.counts, refreshes: history.refreshes, starts: machine.starts)
  }
}

/// A sequence of random pauses.
final class Pauses {
  private var random: RandomStream

  init(_ random: RandomStream) { self.random = random }

  func next(_ range: ClosedRange<Duration>) -> Duration { random.duration(range) }
}
