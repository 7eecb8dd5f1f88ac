import ArgumentParser
import CSimulatedKernel
import FoundationEssentials
import Glibc
import UsherSimulator

/// Runs seeds in this process, one after the other.
final class SeedRunner {
  private let options: UsherSim
  private var runs = 0

  init(_ options: UsherSim) { self.options = options }

  /// Runs seeds and prints a line of JSON for each.
  func work(_ seeds: ClosedRange<UInt64>) throws {
    for seed in seeds {
      let outcome = try simulate(seed, scope(of: seed))
      if options.twice, try simulate(seed, scope(of: seed)).hash != outcome.hash {
        try emit(.differs(seed))
      }
      try emit(.ends(outcome))
    }
  }

  private func emit(_ line: Workers.Event) throws {
    // print() keeps lines back until a buffer is full.
    let bytes = Array(try JSONEncoder().encode(line)) + [UInt8(ascii: "\n")]
    guard write(STDOUT_FILENO, bytes, bytes.count) == bytes.count else { throw ExitCode(1) }
  }

  /// Runs one seed. If a property is violated, finds out what it takes and tells the story.
  func report(_ seed: UInt64) throws {
    let outcome = try simulate(seed, scope(of: seed), print: options.trace ? { print($0) } : nil)
    guard let finding = outcome.finding else {
      return print("seed \(seed): no finding; hash \(String(outcome.hash, radix: 16))")
    }
    print("seed \(seed): \(finding)")
    guard !options.trace else { throw ExitCode(1) }
    let shrinker = Shrinker(seed: seed) { [self] scope in try simulate(seed, scope) }
    let (scope, _) = try shrinker.shrink(scope(of: seed), outcome)
    print(
      "\nThe same happens in \(scope.seconds) s with \(scope.clients) clients and the hazards "
        + "\(scope.hazards.map(\.rawValue).sorted()):\n")
    _ = try simulate(seed, scope) { print($0) }
    throw ExitCode(1)
  }

  private func scope(of seed: UInt64) -> Simulation.Scope {
    var scope = Simulation.Scope(seed: seed, minutes: options.minutes)
    if let hazards = options.hazards { scope.hazards = hazards.hazards }
    return scope
  }

  private func simulate(
    _ seed: UInt64, _ scope: Simulation.Scope, print: ((String) -> Void)? = nil
  ) throws -> Simulation.Outcome {
    runs += 1
    let directory = "/dev/shm/usher-sim-\(getpid())"
    try? FileManager.default.removeItem(atPath: directory)
    guard mkdir(directory, 0o700) == 0 else {
      throw ValidationError("\(directory) cannot be created")
    }
    defer {
      simulated_disk_mount("")
      try? FileManager.default.removeItem(atPath: directory)
    }
    simulated_kernel_watch(UInt32(60 + options.minutes), seed)
    return try Simulation(
      seed: seed, run: runs, directory: directory, scope: scope, kernel: .linked, print: print
    ).run()
  }
}
