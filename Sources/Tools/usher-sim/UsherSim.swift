import ArgumentParser
import CSimulatedKernel
import FoundationEssentials
import Glibc
import UsherSimulator

@main
struct UsherSim: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usher-sim",
    abstract: "Search for faults of the daemon in simulated machines.",
    discussion: """
      Each seed is one simulated machine: the daemon, 20 clients, the providers, the network and \
      the clocks, on one thread in this process. The seed determines everything that happens, so a \
      fault that was found can be looked at again. Exits with status 1 if a property is violated.
      """)

  @Option(help: "The seed of a single run.")
  var seed: UInt64?

  @Option(help: "A range of seeds, such as 1..1000. Default: 1..100.")
  var seeds = SeedRange(1...100)

  @Option(help: "The simulated minutes for which the clients act.")
  var minutes = 90

  @Flag(help: "Print a line for everything that happens.")
  var trace = false

  @Flag(help: "Run each seed twice and compare.")
  var twice = false

  @Flag(help: "Stop at the first violated property.")
  var stopAtFirst = false

  func validate() throws {
    guard 1...100_000 ~= minutes else {
      throw ValidationError("--minutes must be 1 to 100000")
    }
  }

  func run() throws {
    try Self.fixHashing()
    let range = seed.map { $0...$0 } ?? seeds.range
    var report = Report()
    for seed in range {
      let outcome = try simulate(seed)
      if twice, try simulate(seed).hash != outcome.hash {
        print("seed \(seed): the second run differs from the first")
        report.findings += 1
      }
      report.add(outcome)
      if report.findings > 0, stopAtFirst { break }
    }
    report.print()
    if report.findings > 0 { throw ExitCode(1) }
  }

  /// Executes this program again with fixed seeds of Swift's hashing, which the runtime reads
  /// before `main` and which determine the order of sets and dictionaries.
  private static func fixHashing() throws {
    let name = "SWIFT_DETERMINISTIC_HASHING"
    guard getenv(name) == nil else { return }
    setenv(name, "1", 1)
    var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &arguments)
    throw ValidationError("this program cannot execute itself: \(String(cString: strerror(errno)))")
  }

  private func simulate(_ seed: UInt64) throws -> Simulation.Outcome {
    let directory = "/dev/shm/usher-sim-\(getpid())"
    try? FileManager.default.removeItem(atPath: directory)
    guard mkdir(directory, 0o700) == 0 else {
      throw ValidationError("\(directory) cannot be created")
    }
    simulated_kernel_watch(UInt32(60 + minutes), seed)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let kernel = SimulatedKernel(
      setTime: { simulated_kernel_set_time($0, $1) }, elapsed: { simulated_kernel_elapsed() },
      escapes: { Int(simulated_kernel_escapes()) })
    return try Simulation(
      seed: seed, directory: directory, minutes: minutes, kernel: kernel,
      print: trace ? { print($0) } : nil
    ).run()
  }
}

/// A range of seeds on the command line.
struct SeedRange: ExpressibleByArgument {
  let range: ClosedRange<UInt64>

  init(_ range: ClosedRange<UInt64>) { self.range = range }

  init?(argument: String) {
    let bounds = argument.split(separator: "..", omittingEmptySubsequences: false)
    guard bounds.count == 2, let first = UInt64(bounds[0]), let last = UInt64(bounds[1]),
      first <= last
    else { return nil }
    range = first...last
  }

  var defaultValueDescription: String { "\(range.lowerBound)..\(range.upperBound)" }
}

/// What the runs of several seeds add up to.
private struct Report {
  var findings = 0
  private var runs = 0
  private var steps = 0
  private var starts = 0
  private var refreshes = 0
  private var answers: [String: Int] = [:]

  mutating func add(_ outcome: Simulation.Outcome) {
    runs += 1
    steps += outcome.steps
    starts += outcome.starts
    refreshes += outcome.refreshes
    answers.merge(outcome.answers) { $0 + $1 }
    guard let finding = outcome.finding else { return }
    findings += 1
    Swift.print("seed \(outcome.seed): \(finding)")
  }

  func print() {
    for (name, count) in answers.sorted(by: { $0.key < $1.key }) {
      Swift.print("  \(count) \(name)")
    }
    Swift.print(
      "\(runs) seeds, \(steps) steps, \(starts) starts, \(refreshes) refreshes, "
        + "\(answers.values.reduce(0, +)) answers, \(findings) findings")
  }
}
