import ArgumentParser
import Glibc

/// Checks that one user's flood of calls does not slow another user's calls.
struct Fairness: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure one user's calls alone and while another user floods the daemon.",
    discussion: """
      Each round measures the calls alone and then under each flood: the 50th and 99th percentile \
      and the maximum, in microseconds. At the end, the command prints the ratios of the 99th \
      percentiles, as medians over the rounds. As root, the two are different users; otherwise \
      this user floods the daemon, and the measured calls use the admin socket.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of rounds.")
  var rounds = 5

  @Option(help: "Number of calls of each kind in a measurement.")
  var calls = 3000

  @Option(help: "Connections of the flood; those over connections_per_user reconnect repeatedly.")
  var connections = 300

  @Option(
    help: "Highest ratio of the 99th percentile under flood to that alone; above it, exit with 1.")
  var limit = 3.0

  private struct Flood {
    let name: String
    let depth: Int
  }

  private static let floods = [
    Flood(name: "pipelined calls", depth: 0), Flood(name: "one call at a time", depth: 1),
  ]
  /// The kinds of calls; the last one is a new connection with one call.
  private static let rows = CallerCommand.kinds.map(\.0) + ["connect"]
  private static let (working, flooding): (UInt32, UInt32) = (61_001, 61_002)

  func validate() throws {
    guard rounds > 0, calls > 0, connections > 0 else {
      throw ValidationError("--rounds, --calls and --connections must be more than 0")
    }
  }

  func run() throws {
    warnAboutDebugBuild()
    let isRoot = getuid() == 0
    raiseFileLimit()
    let daemon = try MeasuredDaemon(try program.path, config: config)
    let caller = Participant(
      socket: isRoot ? daemon.socketPath : daemon.adminSocketPath,
      user: isRoot ? Self.working : getuid())
    let flooder = Participant(socket: daemon.socketPath, user: isRoot ? Self.flooding : getuid())
    print("calls alone and under a flood of \(connections) connections, in microseconds")
    var ratios: [String: [Double]] = [:]
    var slowestAdmin: UInt64 = 0
    for round in 1...rounds {
      let alone = try measure(caller)
      report("round \(round), alone", alone)
      for flood in Self.floods {
        let child = try start(flood, flooder)
        defer { child.stop() }
        let under = try measure(caller)
        report("round \(round), \(flood.name)", under)
        slowestAdmin = max(slowestAdmin, try admin(daemon))
        for (index, kind) in Self.rows.enumerated() {
          let ratio =
            Double(under[index].percentile(0.99)) / Double(max(alone[index].percentile(0.99), 1))
          ratios["\(kind), \(flood.name)", default: []].append(ratio)
        }
      }
    }
    print("slowest of \(rounds * Self.floods.count * 200) replies on the admin socket under flood:")
    print("  \(slowestAdmin.microseconds)")
    try checkRatios(ratios)
  }

  private struct Participant {
    let socket: String
    let user: UInt32
  }

  private var config: String {
    MeasuredDaemon.silentProvider
      + [("working", Self.working), ("flooding", Self.flooding)].map { name, user in
        """

        [[client]]
        name = "\(name)"
        match = { user = \(user) }
        allow = ["*"]

        """
      }.joined()
  }

  private func measure(_ participant: Participant) throws -> [Timings] {
    let child = try ChildProcess(
      try ChildProcess.own(),
      [
        "caller", "--socket", participant.socket, "--user", "\(participant.user)", "--calls",
        "\(calls)",
      ])
    return try CallerCommand.read(child.allOutput(), calls: calls)
  }

  private func start(_ flood: Flood, _ participant: Participant) throws -> ChildProcess {
    let child = try ChildProcess(
      try ChildProcess.own(),
      [
        "flooder", "--socket", participant.socket, "--user", "\(participant.user)",
        "--connections", "\(connections)", "--depth", "\(flood.depth)", "--background",
      ])
    try child.firstByte()
    return child
  }

  /// Returns the slowest of two hundred calls.
  private func admin(_ daemon: MeasuredDaemon) throws -> UInt64 {
    let client = try BlockingClient(daemon.adminSocketPath)
    return Timings(try (0..<200).map { _ in try client.time(Calls.status) }).max
  }

  private func report(_ title: String, _ timings: [Timings]) {
    print(title)
    for (kind, times) in zip(Self.rows, timings) {
      let name = kind + String(repeating: " ", count: max(0, 14 - kind.count))
      print(
        "  \(name) p50\(times.percentile(0.5).microseconds)"
          + "  p99\(times.percentile(0.99).microseconds)  max\(times.max.microseconds)")
    }
    fflush(nil)
  }

  private func checkRatios(_ ratios: [String: [Double]]) throws {
    print("p99 under flood / p99 alone, median of \(rounds) rounds (limit \(limit)):")
    for (name, values) in ratios.sorted(by: { $0.key < $1.key }) {
      print("  \(values.median.short)  \(name)\(values.median > limit ? "  MISSED" : "")")
    }
    let worst = ratios.values.map(\.median).max() ?? 0
    guard worst <= limit else { throw ExitCode(1) }
  }
}
