import ArgumentParser

/// Measures a real usherd on this machine. Each measurement has a file of its own.
@main
struct UsherBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usher-bench",
    abstract: "Measures usherd: mostly one of its own, compared within one run.",
    discussion: """
      Measure a release build on a machine that does nothing else. Every number is of this machine \
      and this run: only the ratios mean something elsewhere.
      """,
    subcommands: [
      Compare.self, Flows.self, Accounts.self, Churn.self, Count.self, Fairness.self, Start.self,
      Stall.self, Load.self, Plot.self, CallerCommand.self, Flooder.self, Staller.self, Echo.self,
    ])
}
