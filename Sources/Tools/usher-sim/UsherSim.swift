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
      Each seed is one simulated machine: the daemon, 20 clients, the providers, the network, the \
      disk and the clocks, on one thread in one process. The seed determines everything that \
      happens, so a fault that was found can be looked at again. Exits with status 1 if a property \
      is violated.

      With --seed, a run that violates a property is repeated with less time, fewer kinds of \
      hazards and fewer clients, as long as the same property is violated. The last of these runs \
      is then told line by line.
      """)

  @Option(help: "The seed of a single run.")
  var seed: UInt64?

  @Option(help: "A range of seeds, such as 1..1000. Default: 1..100.")
  var seeds = SeedRange(1...100)

  @Option(help: "The simulated minutes for which the clients act.")
  var minutes = 10

  @Option(help: "The number of processes.")
  var jobs = ProcessInfo.processInfo.activeProcessorCount

  @Option(help: "The kinds of hazards, instead of those that the seed determines.")
  var hazards: HazardList?

  @Flag(help: "Print a line for everything that happens. Needs --seed.")
  var trace = false

  @Flag(help: "Run each seed twice and compare the hashes.")
  var twice = false

  @Flag(help: "Stop at the first violated property.")
  var stopAtFirst = false

  @Flag(help: .private)
  var worker = false

  func validate() throws {
    guard 1...100_000 ~= minutes else {
      throw ValidationError("--minutes must be 1 to 100000")
    }
    guard 1...1000 ~= jobs else { throw ValidationError("--jobs must be 1 to 1000") }
    guard seed != nil || !trace else { throw ValidationError("--trace needs --seed") }
  }

  func run() throws {
    try Self.fixOrders()
    simulated_kernel_raise_limits()
    if let seed { return try SeedRunner(self).report(seed) }
    if worker { return try SeedRunner(self).work(seeds.range) }
    var report = Report()
    let begin = ContinuousClock.now
    try Workers(range: seeds.range, arguments: workerArguments, jobs: jobs).run { line in
      switch line {
      case .success(.ends(let outcome)): report.add(outcome)
      case .success(.differs(let seed)):
        report.add("the second run differs from the first", seed)
      case .failure(let crash): report.add("the process of the simulation crashed", crash.seed)
      }
      return report.findings == 0 || !stopAtFirst
    }
    report.print(elapsed: (ContinuousClock.now - begin) / .seconds(1))
    if report.findings > 0 { throw ExitCode(1) }
  }

  private var workerArguments: [String] {
    ["--worker", "--minutes", "\(minutes)"] + (twice ? ["--twice"] : [])
      + (hazards.map { ["--hazards", $0.defaultValueDescription] } ?? [])
  }

  /// Executes this program again with fixed seeds of Swift's hashing and fixed addresses, which
  /// determine the order of sets and dictionaries.
  private static func fixOrders() throws {
    let name = "SWIFT_DETERMINISTIC_HASHING"
    if let value = getenv(name), strcmp(value, "1") == 0 { return }
    setenv(name, "1", 1)
    simulated_kernel_fix_addresses()
    var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &arguments)
    throw ValidationError("this program cannot execute itself: \(String(cString: strerror(errno)))")
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

/// Kinds of hazards on the command line, separated by commas; or `none`.
struct HazardList: ExpressibleByArgument {
  let hazards: Set<Hazard>

  init?(argument: String) {
    let names = argument == "none" ? [] : argument.split(separator: ",").map(String.init)
    hazards = Set(names.compactMap(Hazard.init(rawValue:)))
    guard hazards.count == Set(names).count else { return nil }
  }

  var defaultValueDescription: String {
    hazards.isEmpty ? "none" : hazards.map(\.rawValue).sorted().joined(separator: ",")
  }

  static var allValueStrings: [String] { Hazard.allCases.map(\.rawValue) + ["none"] }
}
