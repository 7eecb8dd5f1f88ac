import ArgumentParser

/// Measures a real usherd on this machine. What one measure needs stands in one file.
@main
struct UsherBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usher-bench",
    abstract: "Measures usherd: starts one of its own, and compares within one run.",
    discussion: """
      Measure a release build on a machine that does nothing else. Every number is of this machine \
      and this run: only the ratios mean something elsewhere.
      """,
    subcommands: [Fairness.self, Caller.self, Flooder.self])
}
