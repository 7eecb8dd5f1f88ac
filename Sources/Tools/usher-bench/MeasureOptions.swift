import ArgumentParser

/// The option that selects the usherd to measure, for example that of another build or a package.
struct MeasuredProgram: ParsableArguments {
  @Option(help: "Path of the usherd to measure. Default: the one next to this program.")
  var usherd: String?

  var path: String {
    get throws { try usherd ?? MeasuredDaemon.builtProgram() }
  }
}

/// The options for the results of a measurement that has goals.
struct Outcome: ParsableArguments {
  @Option(help: "File to write the numbers to, as JSON.")
  var json: String?

  @Flag(help: "Exit with status 1 if a goal is missed. The goals are for release builds.")
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
