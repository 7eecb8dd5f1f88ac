import ArgumentParser

/// The option that selects the usherd to measure, for example that of another build or a package.
struct MeasuredProgram: ParsableArguments {
  @Option(help: "The usherd to measure; without it, the one beside this program.")
  var usherd: String?

  var path: String {
    get throws { try usherd ?? MeasuredDaemon.builtProgram() }
  }
}

/// The options for the results of a measurement that has goals.
struct Outcome: ParsableArguments {
  @Option(help: "Writes the numbers as JSON to this file.")
  var json: String?

  @Flag(help: "Ends with 1 where a goal is not reached: a release build's.")
  var judges = false
}

/// Warns, on the first line of output, that a debug build is measured.
func warnAboutDebugBuild() {
  #if DEBUG
    print("a debug build: its numbers mean nothing")
  #endif
}

extension Double {
  /// Whether the number is a valid duration in seconds: more than 0 and at most a day.
  var isLength: Bool { self > 0 && self <= 86_400 }
}
