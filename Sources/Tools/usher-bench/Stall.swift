import ArgumentParser
import Glibc

/// Checks that one caller's slow lines do not stop another caller's calls.
struct Stall: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure one user's calls while another user sends lines that are slow to read.",
    discussion: """
      The attacker has no rights. It tries lines of all shapes and sizes, and then more of the \
      slow ones. The command prints the 50th and 99th percentile of the other user's calls, alone \
      and under attack, in microseconds, and their ratio. As root, the two are different users; \
      otherwise the attacker is this user, and the measured calls use the admin socket.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Duration of the attack in seconds.")
  var seconds = 30.0

  @Option(help: "Number of calls of each kind in a measurement.")
  var calls = 1000

  @Option(help: "Connections of the attacker; each sends one line after another.")
  var connections = 8

  @Option(help: "Random seed of the attacker; the same seed tries the same lines first.")
  var seed: UInt64 = 1

  @Option(
    help: ArgumentHelp(
      "File with lines to send instead of random ones, as fuzz.py of Tests/Attacks writes.",
      valueName: "file"))
  var lines: String?

  @Option(
    help: "Highest ratio of the 99th percentile under attack to that alone; above it, exit with 1.")
  var limit = 3.0

  @Option(
    help: "Highest 99th percentile under attack in milliseconds; above it, exit with 1.")
  var milliseconds = 5.0

  /// The number of measurements without the attack.
  private static let rounds = 3
  private static let (working, attacking): (UInt32, UInt32) = (61_001, 61_003)

  func validate() throws {
    guard calls > 0, connections > 0, seconds.isLength else {
      throw ValidationError("--seconds, --calls and --connections must be more than 0")
    }
  }

  func run() throws {
    warnAboutDebugBuild()
    let isRoot = getuid() == 0
    let daemon = try MeasuredDaemon(try program.path, config: config)
    let socket = isRoot ? daemon.socketPath : daemon.adminSocketPath
    let user = isRoot ? Self.working : getuid()
    // Measured in several processes, as under attack, because the speed depends on the processors
    // that the kernel gives to the caller and the daemon.
    var alone = try measure(socket, user)
    for _ in 1..<Self.rounds { alone = zip(alone, try measure(socket, user)).map { $0 + $1 } }
    let attacker = try ChildProcess(
      try ChildProcess.own(),
      [
        "staller", "--socket", daemon.socketPath,
        "--user", "\(isRoot ? Self.attacking : getuid())", "--connections", "\(connections)",
        "--seconds", "\(seconds)", "--seed", "\(seed)",
      ] + (lines.map { ["--lines", $0] } ?? []))
    try attacker.firstByte()
    let end = BlockingClient.now() + UInt64(seconds * 1e9)
    var under = try measure(socket, user)
    while BlockingClient.now() < end {
      under = zip(under, try measure(socket, user)).map { $0 + $1 }
    }
    print(String(decoding: attacker.allOutput(), as: UTF8.self), terminator: "")
    attacker.join()
    try checkTimes(alone, under)
  }

  private var config: String {
    """
    \(MeasuredDaemon.silentProvider)
    [[client]]
    name = "working"
    match = { user = \(Self.working) }
    allow = ["*"]

    """
  }

  private func measure(_ socket: String, _ user: UInt32) throws -> [[UInt64]] {
    let child = try ChildProcess(
      try ChildProcess.own(),
      ["caller", "--socket", socket, "--user", "\(user)", "--calls", "\(calls)"])
    return try CallerCommand.read(child.allOutput(), calls: calls).map(\.all)
  }

  private func checkTimes(_ alone: [[UInt64]], _ under: [[UInt64]]) throws {
    print("another user's calls, alone and under attack, in microseconds:")
    var isMissed = false
    for (index, kind) in (CallerCommand.kinds.map(\.0) + ["connect"]).enumerated() {
      let (alone, under) = (Timings(alone[index]), Timings(under[index]))
      let ratio =
        Double(under.percentile(0.99)) / Double(max(alone.percentile(0.99), 1))
      let isOver = ratio > limit || Double(under.percentile(0.99)) > milliseconds * 1e6
      isMissed = isMissed || isOver
      print(
        "  \(kind): p50\(alone.percentile(0.5).microseconds)\(under.percentile(0.5).microseconds)"
          + "  p99\(alone.percentile(0.99).microseconds)\(under.percentile(0.99).microseconds)"
          + "  max\(under.max.microseconds)  p99 ratio\(ratio.short)\(isOver ? "  MISSED" : "")")
    }
    if isMissed { throw ExitCode(1) }
  }
}
