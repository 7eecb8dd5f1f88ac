import ArgumentParser

/// Measures a real usherd on this machine. Each measurement has a file of its own.
@main
struct UsherBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usher-bench",
    abstract: "Measure usherd and compare it with other programs in the same run.",
    discussion: """
      Measure a release build on an otherwise idle machine. Absolute numbers hold only for this \
      machine and this run; use the ratios to compare machines.
      """,
    subcommands: [
      Compare.self, Flows.self, Accounts.self, Churn.self, Count.self, Fairness.self, Start.self,
      Stall.self, Load.self, Plot.self, CallerCommand.self, Flooder.self, Staller.self, Echo.self,
    ])
}
