import ArgumentParser
import Glibc

/// Compares a cached token with the look-up of other servers over a Unix socket.
struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare cached token.get with a C echo, Redis, ssh-agent and oidc-agent.",
    discussion: """
      Starts all servers and calls them with the same C loop, one server after another in each \
      round. Client and server run on different processors; a single connection runs on one. \
      Servers that are not installed are reported and skipped, unless --server names them; \
      `Packaging/install-dependencies bench` installs them. Ratios are computed within a round, so \
      that other load on the machine affects both sides.
      """)

  @OptionGroup var program: MeasuredProgram

  @Option(help: "Number of rounds.")
  var rounds = 3

  @Option(help: "Seconds for each measurement.")
  var seconds = 2.0

  @Option(help: "Seconds of warm-up before each measurement.")
  var warm = 0.3

  @Option(
    parsing: .upToNextOption,
    help: "Loads: \(LoadShape.allCases.map(\.rawValue).joined(separator: ", ")). Default: all.")
  var load: [LoadShape] = []

  @Option(
    parsing: .upToNextOption,
    help: "Besides usherd: \(Self.others.map(\.rawValue).joined(separator: ", ")). Default: all.")
  var server: [ServerName] = []

  @Option(help: "Size of the access token in bytes.")
  var tokenBytes = 800

  @Flag(help: "Do not pin client and servers to processors.")
  var unpinned = false

  @OptionGroup var outcome: Outcome

  private static let others = ServerName.allCases.filter { $0 != .usherd }

  func validate() throws {
    guard rounds > 0, seconds.isLength, warm == 0 || warm.isLength else {
      throw ValidationError(
        "--rounds and --seconds must be more than 0; --seconds and --warm at most 86400")
    }
    guard 1...65_536 ~= tokenBytes else {
      throw ValidationError("--token-bytes must be 1 to 65536")
    }
  }

  func run() throws {
    warnAboutDebugBuild()
    let report = try outcome.json.map { try ReportFile($0) }
    raiseFileLimit()
    let results = try measure(try servers())
    let comparison = Comparison(
      machine: .this, rounds: rounds, seconds: seconds, results: results)
    for line in ComparisonTable(comparison: comparison).lines { print(line) }
    try report?.write(String(decoding: comparison.json(), as: UTF8.self))
    if outcome.judges, comparison.ratios.contains(where: { !$0.isReached }) { throw ExitCode(1) }
  }

  /// Returns usherd and the servers that are named; if none are, all that are installed.
  private func servers() throws -> [MeasuredServer] {
    let signedIn = try SignedInDaemon(try program.path, tokenBytes: tokenBytes)
    let usherd = try MeasuredServer.usherd(signedIn)
    var servers = [usherd]
    for name in Self.others where server.isEmpty || server.contains(name) {
      do {
        switch name {
        case .usherd: break
        case .echo: servers.append(try .echo(like: usherd))
        case .redis: servers.append(try .redis(like: usherd, key: "token:\(signedIn.account)"))
        case .sshAgent: servers.append(try .sshAgent())
        case .oidcAgent: servers.append(try .oidcAgent(tokenBytes: tokenBytes))
        }
      } catch let missing as NotInstalled where server.isEmpty {
        print("\(name.rawValue): not measured: \(missing)")
        fflush(nil)
      }
    }
    return servers
  }

  private func measure(_ servers: [MeasuredServer]) throws -> [Comparison.Result] {
    let processors = unpinned ? nil : LoadMeasure.Processors.ofThisMachine()
    var results: [Comparison.Result] = []
    for load in LoadShape.allCases where self.load.isEmpty || self.load.contains(load) {
      let measured = servers.filter { $0.name.takes(load) }
      var rows = measured.map { Comparison.Result(server: $0.name, load: load) }
      var busy = measured.map { _ in [Double]() }
      for _ in 0..<rounds {
        for (row, server) in measured.enumerated() {
          let measure = try LoadMeasure(server, load, warm: warm, seconds: seconds, at: processors)
          rows[row].requestsPerSecond.append(measure.requestsPerSecond)
          rows[row].cpuMicroseconds.append(measure.cpuMicroseconds)
          rows[row].p50Microseconds.append(measure.p50Microseconds)
          rows[row].p99Microseconds.append(measure.p99Microseconds)
          rows[row].rssKiB = try server.resident
          busy[row].append(measure.clientBusy)
        }
      }
      for row in rows.indices { rows[row].clientBusy = busy[row].median }
      results += rows
    }
    return results
  }
}

extension Comparison.Machine {
  static var this: Self {
    var names = utsname()
    uname(&names)
    let cpus = sysconf(CInt(_SC_NPROCESSORS_ONLN))
    let text = (try? wholeFile("/proc/cpuinfo")) ?? ""
    let model = text.split(separator: "\n").first { $0.hasPrefix("model name") }
    let name = model?.split(separator: ":").last.map { String($0.drop { $0 == " " }) }
    return Self(
      cpus: cpus, kernel: Self.text(names.release), cpu: name ?? Self.text(names.machine))
  }

  private static func text(_ name: some Any) -> String {
    withUnsafeBytes(of: name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
