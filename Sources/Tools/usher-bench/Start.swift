import ArgumentParser
import Glibc

/// Measures a start, and the memory of an idle daemon.
struct Start: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure the time from exec to READY=1, and the memory of an idle daemon.",
    discussion: """
      Times are medians over the rounds. In turn with usherd, the command measures Redis from exec \
      to READY=1, if it is installed, and /bin/true from exec to exit. Memory is read from \
      /proc/PID/status: VmRSS includes pages of programs and libraries that other processes share, \
      RssAnon is the daemon's own memory.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of starts.")
  var rounds = 30

  @Option(help: "Number of idle connections.")
  var connections = 1000

  @OptionGroup var outcome: Outcome

  func validate() throws {
    guard rounds > 0, connections > 0 else {
      throw ValidationError("--rounds and --connections must be more than 0")
    }
  }

  func run() throws {
    let program = try program.path
    var results = try MeasurementResults("start", to: outcome.json)
    try measureTime(program, &results)
    try measureMemory(program, &results)
    try results.write()
    if outcome.judges, results.isMissed { throw ExitCode(1) }
  }
}

// MARK: - Time

extension Start {
  private func measureTime(_ program: String, _ results: inout MeasurementResults) throws {
    let starter = try Starter()
    let redis = try? ReferenceServer.program("redis-server")
    let first = try starter.start(program)
    var (usherdTimes, redisTimes, trueTimes): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<rounds {
      usherdTimes.append(try starter.start(program))
      if let redis { redisTimes.append(try starter.startRedis(redis)) }
      trueTimes.append(try Self.wholeRun("/bin/true"))
    }
    results.add("usherd, exec to READY=1", usherdTimes, "ms", goal: .atMost(25))
    results.add("usherd, first start, which creates the key and the database", first, "ms")
    if redis == nil {
      print("redis: not measured: \(NotInstalled(program: "redis-server"))")
    } else {
      results.add("Redis, exec to READY=1", redisTimes, "ms")
      results.add("usherd / Redis", zip(usherdTimes, redisTimes).map { $0 / $1 }, "×")
    }
    results.add("/bin/true, exec to exit", trueTimes, "ms")
    results.add("usherd / /bin/true", zip(usherdTimes, trueTimes).map { $0 / $1 }, "×")
  }

  private static func wholeRun(_ path: String) throws -> Double {
    let begun = BlockingClient.now()
    try ChildProcess(path, []).join()
    return Double(BlockingClient.now() - begun) / 1_000_000
  }
}

/// Starts daemons again and again on the same state.
private final class Starter {
  private let directory: ScratchDirectory
  private let listener: ReadyListener

  init() throws {
    directory = try ScratchDirectory()
    try directory.write(MeasuredDaemon.silentProvider, to: "usherd.toml")
    listener = try ReadyListener(in: directory)
  }

  /// - Returns: The milliseconds from exec to READY=1.
  func start(_ usherd: String) throws -> Double {
    try start(usherd, MeasuredDaemon.arguments(in: directory))
  }

  /// Starts an empty Redis, and returns the same time for it.
  func startRedis(_ redis: String) throws -> Double {
    let arguments = ReferenceServer.redis(in: directory, directory.file("redis.sock"))
    return try start(redis, ["--supervised", "systemd"] + arguments)
  }

  /// Starts a program, waits until it is ready, and stops it.
  private func start(_ program: String, _ arguments: [String]) throws -> Double {
    let ready = try listener.start(program, arguments)
    ready.program.stop()
    listener.drain()
    return ready.milliseconds
  }
}

// MARK: - Memory

extension Start {
  private func measureMemory(_ program: String, _ results: inout MeasurementResults) throws {
    raiseFileLimit()
    let daemon = try MeasuredDaemon(
      program,
      config: """
        [limits]
        connections = \(connections + 64)
        connections_per_user = \(connections + 32)

        \(MeasuredDaemon.silentProvider)
        """)
    // What the daemon prepares before the first call is ready by then.
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
    let each = (after.anonymous - before.anonymous) / Double(connections)
    results.add(
      "VmRSS, idle", before.resident, "KiB", goal: .atMost(45 * 1024))
    results.add(
      "RssAnon, idle", before.anonymous, "KiB", goal: .atMost(6 * 1024))
    results.add(
      "RssAnon for each of \(connections) idle connections", each, "KiB", goal: .atMost(8))
  }
}
