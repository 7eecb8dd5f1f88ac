import ArgumentParser
import Glibc

/// How long a start takes, and what a daemon that does nothing costs.
struct Start: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "From exec to READY=1, and the memory of a daemon that waits for calls.",
    discussion: """
      Times are medians over the rounds, beside those of other programs from exec to their end, \
      measured in turn with it. Memory is the kernel's account of it (/proc/PID/status): VmRSS \
      counts pages of programs and libraries that others share, RssAnon is the daemon's own.
      """)

  @Option(help: "The usherd to measure; without it, the one beside this program.")
  var usherd: String?

  @Option(help: "How often it is started.")
  var rounds = 30

  @Option(help: "Connections that are opened and left alone.")
  var connections = 1000

  @Flag(help: "Ends with 1 where a goal is not reached: a release build's.")
  var judges = false

  /// What an installed daemon is to keep to.
  private static let goals = (
    milliseconds: 25.0, anonymous: 6.0 * 1024, resident: 45.0 * 1024, connection: 8.0
  )

  func run() throws {
    if Self.isYardstick { return }
    let program = try usherd ?? MeasuredDaemon.besideThisProgram()
    let times = try self.times(program)
    let memory = try self.memory(program)
    guard judges else { return }
    guard times <= Self.goals.milliseconds, memory.before.anonymous <= Self.goals.anonymous,
      memory.before.resident <= Self.goals.resident, memory.connection <= Self.goals.connection
    else { throw ExitCode(1) }
  }
}

// MARK: - Time

extension Start {
  private static let yardstickMark = "USHER_BENCH_YARDSTICK"
  private static var isYardstick: Bool { getenv(yardstickMark) != nil }

  /// - Returns: Milliseconds of a start.
  private func times(_ program: String) throws -> Double {
    let place = try StartPlace()
    let first = try place.start(program)
    let own = try ChildProcess.own()
    var (start, plain, swift): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<rounds {
      start.append(try place.start(program))
      plain.append(try Self.wholeRun("/bin/true", []))
      setenv(Self.yardstickMark, "1", 1)
      swift.append(try Self.wholeRun(own, ["start"]))
      unsetenv(Self.yardstickMark)
    }
    print("milliseconds, median of \(rounds)")
    print(start.median.short, " usherd, exec to READY=1 (goal \(Self.goals.milliseconds))")
    print(first.short, " usherd, its first start: it makes its key and its database")
    print(plain.median.short, " /bin/true, exec to its end")
    print(swift.median.short, " a Swift program that does nothing, exec to its end")
    print("ratios")
    print((start.median / plain.median).short, " usherd / /bin/true")
    print((start.median / swift.median).short, " usherd / a Swift program that does nothing")
    return start.median
  }

  private static func wholeRun(_ path: String, _ arguments: [String]) throws -> Double {
    let begun = BlockingClient.now()
    let child = try ChildProcess(path, arguments)
    child.join()
    return Double(BlockingClient.now() - begun) / 1_000_000
  }
}

/// Where a daemon is started again and again on the same state.
private final class StartPlace {
  private let path: String
  private let listener: ReadyListener

  init() throws {
    path = try MeasuredDaemon.freshPlace()
    try MeasuredDaemon.write(MeasuredDaemon.silentProvider, to: "\(path)/usherd.toml")
    listener = try ReadyListener(in: path)
  }

  deinit { MeasuredDaemon.remove(path) }

  /// Starts it, waits until it is ready, and stops it.
  ///
  /// - Returns: Milliseconds from exec to READY=1.
  func start(_ program: String) throws -> Double {
    let ready = try listener.start(program, MeasuredDaemon.arguments(in: path))
    ready.program.stop()
    listener.drain()
    return ready.milliseconds
  }
}

// MARK: - Memory

extension Start {
  /// - Returns: What it has before anybody calls, and KiB of its own for each connection.
  private func memory(_ program: String) throws -> (before: ProcessCost, connection: Double) {
    raiseFileLimit()
    let daemon = try MeasuredDaemon(
      program,
      config: """
        [limits]
        connections = \(connections + 64)
        connections_per_user = \(connections + 32)

        \(MeasuredDaemon.silentProvider)
        """)
    // What it makes ahead of the first calls is made by then.
    sleep(1)
    let before = try ProcessCost(of: daemon.pid)
    let clients = try (0..<connections).map { _ in
      let client = try BlockingClient(daemon.socketPath)
      _ = try client.time(Calls.status)
      return client
    }
    sleep(1)
    let after = try ProcessCost(of: daemon.pid)
    withExtendedLifetime(clients) {}
    let each = (after.anonymous - before.anonymous) / Double(max(connections, 1))
    print("KiB")
    print(before.resident.short, " VmRSS, waiting for calls (goal \(Self.goals.resident))")
    print(before.anonymous.short, " RssAnon, waiting for calls (goal \(Self.goals.anonymous))")
    print(
      each.short, " RssAnon for each of \(connections) connections that wait",
      "(goal \(Self.goals.connection))")
    return (before, each)
  }
}
