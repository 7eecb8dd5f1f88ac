import UsherSimulator

/// What the runs of several seeds add up to.
struct Report {
  private(set) var findings = 0
  private var runs = 0
  private var steps = 0
  private var starts = 0
  private var refreshes = 0
  private var diskOperations: UInt64 = 0
  private var simulated = 0.0
  private var answers: [String: Int] = [:]
  private var flows: [String: Int] = [:]

  mutating func add(_ outcome: Simulation.Outcome) {
    runs += 1
    steps += outcome.steps
    starts += outcome.starts
    refreshes += outcome.refreshes
    simulated += outcome.seconds
    diskOperations += outcome.diskOperations
    answers.merge(outcome.answers) { $0 + $1 }
    flows.merge(outcome.flows) { $0 + $1 }
    if let finding = outcome.finding { add(finding, outcome.seed) }
  }

  mutating func add(_ finding: String, _ seed: UInt64) {
    findings += 1
    Swift.print("seed \(seed): \(finding)")
  }

  /// - Parameter elapsed: The real time of the runs, in seconds.
  func print(elapsed: Double) {
    for (name, count) in answers.sorted(by: { $0.key < $1.key }) {
      Swift.print("  \(count) \(name)")
    }
    for (name, count) in flows.sorted(by: { $0.key < $1.key }) {
      Swift.print("  \(count) flows \(name)")
    }
    let rate = Int(Double(runs) / max(elapsed, 0.001) * 60)
    Swift.print(
      """
      \(runs) seeds, \(steps) steps, \(starts) starts, \(refreshes) refreshes, \
      \(answers.values.reduce(0, +)) answers, \(diskOperations) operations on the disk, \
      \(findings) findings
      \(Int(simulated / Double(max(runs, 1)))) simulated seconds a seed, \(rate) seeds a minute
      """)
  }
}
