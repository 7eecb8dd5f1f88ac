import ArgumentParser
import Glibc

/// Measures a start with many stored accounts, and the first token of an account.
struct Accounts: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure a start with many stored accounts, and the first tokens of some of them.",
    discussion: """
      One user signs in at usher-sandbox, and copies of the account are stored under other ids. \
      The accounts that are called are this user's; the rest are other users', ten for each. The \
      calls are compared with reading a row by its key with SQLite's C library.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of stored accounts.")
  var stored = 1_000_000

  @Option(help: "Number of accounts to get a token of.")
  var calls = 2000

  @Option(help: "Number of starts with these accounts.")
  var rounds = 3

  @OptionGroup var outcome: Outcome

  func validate() throws {
    guard rounds > 0, calls > 0, stored - 2 >= calls else {
      throw ValidationError(
        "--rounds and --calls must be more than 0, and --stored at least 2 more than --calls")
    }
  }

  func run() async throws {
    let program = try program.path
    var results = try MeasurementResults("accounts", to: outcome.json)
    let signedIn = try SignedInDaemon(program)
    let daemon = signedIn.daemon
    let one = try starts(daemon, program)
    daemon.stop()
    let copying = BlockingClient.now()
    let accounts = try await AccountCopies(stored: stored, own: calls).write(to: daemon)
    let copied = Double(BlockingClient.now() - copying) / 1_000_000_000
    let many = try starts(daemon, program)
    let cold = try times(accounts, signedIn)
    let warm = try times(accounts, signedIn)
    let cost = try ProcessCost(of: daemon.pid)
    let read = try readByKey(daemon)
    print("\(stored) accounts, stored in \(copied.short) s; token.get for \(calls) of them")
    results.add("first token.get of an account, p99", cold.p99, "µs", goal: .atMost(2000))
    results.add("first token.get of an account, p50", cold.p50, "µs")
    results.add("second token.get of an account, p50", warm.p50, "µs")
    results.add("second token.get of an account, p99", warm.p99, "µs")
    results.add("SQLite read by key, p50", read.p50, "µs")
    results.add("SQLite read by key, p99", read.p99, "µs")
    results.add("first token.get / SQLite read by key, p50", cold.p50 / read.p50, "×")
    results.add("exec to READY=1 with one account", one.times, "ms")
    results.add("exec to READY=1 with all accounts", many.times, "ms")
    results.add(
      "exec to READY=1 with all accounts / with one", many.times.median / one.times.median, "×")
    results.add("VmRSS with one account", one.cost.resident / 1024, "MB")
    results.add("VmRSS with all accounts", many.cost.resident / 1024, "MB")
    results.add("RssAnon with one account", one.cost.anonymous / 1024, "MB")
    results.add("RssAnon with all accounts", many.cost.anonymous / 1024, "MB")
    results.add("RssAnon after the calls", cost.anonymous / 1024, "MB")
    try results.write()
    if outcome.judges, results.isMissed { throw ExitCode(1) }
  }

  /// - Returns: The milliseconds of each start, and the resources that the daemon uses after the
  ///   last one.
  private func starts(
    _ daemon: MeasuredDaemon, _ program: String
  ) throws -> (times: [Double], cost: ProcessCost) {
    let times = try (0..<rounds).map { _ in
      try daemon.restart(program, timeout: 300).milliseconds
    }
    sleep(1)
    return (times, try ProcessCost(of: daemon.pid))
  }

  private func times(
    _ accounts: [String], _ signedIn: SignedInDaemon
  ) throws -> (p50: Double, p99: Double) {
    let client = try BlockingClient(signedIn.daemon.socketPath)
    let times = try accounts.map { account in
      let time = try client.time(Calls.line("token.get", #"{"account":"\#(account)"}"#))
      guard client.reply.contains(signedIn.accessToken) else {
        throw BenchError("no token: \(client.reply)")
      }
      return time
    }
    return Self.percentiles(times)
  }

  /// Measures reads of rows that the daemon has not read.
  private func readByKey(_ daemon: MeasuredDaemon) throws -> (p50: Double, p99: Double) {
    let reader = try StoreReader(daemon.databasePath)
    let keys = try reader.texts(
      "SELECT id FROM accounts WHERE uid >= \(AccountCopies.others) LIMIT \(calls)")
    return Self.percentiles(
      try reader.times("SELECT sealed FROM accounts WHERE id = ?", keys))
  }

  private static func percentiles(_ times: [UInt64]) -> (p50: Double, p99: Double) {
    let timings = Timings(times)
    return (
      Double(timings.percentile(0.5)) / 1000, Double(timings.percentile(0.99)) / 1000
    )
  }
}
