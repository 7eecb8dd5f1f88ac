import ArgumentParser
import Glibc

/// Measures flows: transitions, which are on disk before they are answered, and idle flows.
struct Flows: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare flow transitions with single commits, or measure many live flows.",
    discussion: """
      Each worker starts, advances and cancels flows on its own connection; every transition is on \
      disk before its reply. In turn with the workers, one program commits rows of the same size, \
      one at a time, to its own database on the same file system.

      With --live, the command instead starts that many flows and leaves them alone. It measures \
      the memory of each flow and the duration of a restart with all of them.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of rounds; each measures both in turn.")
  var rounds = 3

  @Option(help: "Seconds for each measurement.")
  var seconds = 3.0

  @Option(help: "Number of workers, each with one flow at a time.")
  var workers = 50

  @Option(help: "Number of flows to start and leave alone.")
  var live: Int?

  @OptionGroup var outcome: Outcome

  func validate() throws {
    guard rounds > 0, workers > 0, live ?? 1 > 0, seconds.isLength else {
      throw ValidationError("all numbers must be more than 0, and --seconds at most 86400")
    }
  }

  func run() throws {
    raiseFileLimit()
    let program = try program.path
    var results = try MeasurementResults("flows", to: outcome.json)
    if let live {
      try measure(live, program, &results)
    } else {
      try compare(program, &results)
    }
    try results.write()
    if outcome.judges, results.isMissed { throw ExitCode(1) }
  }

  private func config(_ limits: String = "") -> String {
    """
    \(FlowWorkers.provider)
    [limits]
    flow_starts_per_minute = 100000
    live_flows_per_user = 1000000
    \(limits)
    """
  }
}

// MARK: - Transitions

extension Flows {
  private func compare(_ program: String, _ results: inout MeasurementResults) throws {
    let daemon = try MeasuredDaemon(program, config: config())
    let workers = try FlowWorkers(daemon.socketPath, count: workers)
    _ = try workers.run(.rounds, for: 0.5)
    let store = try StoreReader(daemon.databasePath)
    let sealedBytes = try Self.sealedBytes(in: store, daemon)
    let commits = try SingleCommits(sealedBytes: sealedBytes)
    _ = try commits.perSecond(for: 0.5)
    var (commitRates, transitionRates, processorTimes): ([Double], [Double], [Double]) = (
      [], [], []
    )
    for _ in 0..<rounds {
      commitRates.append(try commits.perSecond(for: seconds))
      let (before, spent) = (try Self.written(store), try ProcessCost(of: daemon.pid).seconds)
      let run = try workers.run(.rounds, for: seconds)
      let written = try Self.written(store) - before
      guard Int(written) == run.transitions else {
        throw BenchError("\(run.transitions) transitions were answered, \(written) written")
      }
      transitionRates.append(Double(run.transitions) / run.seconds)
      let used = try ProcessCost(of: daemon.pid).seconds - spent
      processorTimes.append(used * 1_000_000 / Double(run.transitions))
    }
    print("durable transitions of \(self.workers) flows; \(sealedBytes) sealed bytes in a row")
    results.add(
      "flow transitions / single SQLite commits", zip(transitionRates, commitRates).map { $0 / $1 },
      "×",
      goal: .atLeast(4))
    results.add("flow transitions per second", transitionRates, "/s")
    results.add("single SQLite commits per second", commitRates, "/s")
    results.add("daemon processor time per transition", processorTimes, "µs")
  }

  private static func written(_ store: StoreReader) throws -> Int64 {
    try store.number("SELECT max(sequence) FROM journal")
  }

  /// Returns the sealed bytes of a flow that waits for its browser.
  private static func sealedBytes(
    in store: StoreReader, _ daemon: MeasuredDaemon
  ) throws -> Int {
    _ = try FlowWorkers(daemon.socketPath, count: 1).run(.starts(1), for: 5)
    return Int(
      try store.number("SELECT max(length(sealed)) FROM flows WHERE status = 'active'"))
  }
}

// MARK: - Live flows

extension Flows {
  private func measure(
    _ live: Int, _ program: String, _ results: inout MeasurementResults
  ) throws {
    let daemon = try MeasuredDaemon(program, config: config())
    sleep(1)
    let before = try ProcessCost(of: daemon.pid)
    let empty = try daemon.restart(program)
    sleep(1)
    let begun = try FlowWorkers(daemon.socketPath, count: workers)
      .run(.starts(live), for: 600)
    guard begun.transitions == live else {
      throw BenchError("only \(begun.transitions) of \(live) flows were started in time")
    }
    sleep(2)
    let with = try ProcessCost(of: daemon.pid)
    let full = try daemon.restart(program, timeout: 120)
    let ready = try ProcessCost(of: daemon.pid)
    // Work that the daemon does after its start is finished by then.
    sleep(5)
    let after = try ProcessCost(of: daemon.pid)
    print("\(live) live flows")
    results.add(
      "RssAnon increase with the flows", (with.anonymous - before.anonymous) / 1024, "MB",
      goal: .atMost(100 * Double(live) / 100_000))
    results.add(
      "RssAnon increase after a restart with the flows",
      (after.anonymous - before.anonymous) / 1024, "MB",
      goal: .atMost(100 * Double(live) / 100_000))
    results.add(
      "RssAnon per flow, after its start",
      (with.anonymous - before.anonymous) * 1024 / Double(live), "bytes")
    results.add(
      "RssAnon per flow, after a restart",
      (after.anonymous - before.anonymous) * 1024 / Double(live), "bytes")
    results.add("VmRSS before the flows", before.resident / 1024, "MB")
    results.add("VmRSS with the flows", with.resident / 1024, "MB")
    results.add("VmRSS at READY=1 after the restart", ready.resident / 1024, "MB")
    results.add("VmRSS five seconds after READY=1", after.resident / 1024, "MB")
    results.add("exec to READY=1 without flows", empty.milliseconds, "ms")
    results.add("exec to READY=1 with the flows", full.milliseconds, "ms")
    results.add(
      "EXTEND_TIMEOUT_USEC messages of the start with the flows", Double(full.extensions), "")
    results.add(
      "flows started per second", Double(begun.transitions) / begun.seconds, "/s")
  }
}
