import ArgumentParser

/// Which usherd a measure is of: so two builds are compared, or the one of a package is measured.
struct MeasuredProgram: ParsableArguments {
  @Option(help: "The usherd to measure; without it, the one beside this program.")
  var usherd: String?

  var path: String {
    get throws { try usherd ?? MeasuredDaemon.besideThisProgram() }
  }
}

/// What becomes of the numbers of a measure that has goals.
struct Outcome: ParsableArguments {
  @Option(help: "Writes the numbers as JSON to this file.")
  var json: String?

  @Flag(help: "Ends with 1 where a goal is not reached: a release build's.")
  var judges = false
}

/// To be said on the first line of what it measures.
func tellOfDebugBuild() {
  #if DEBUG
    print("a debug build: its numbers mean nothing")
  #endif
}

extension Double {
  /// As the seconds of a measure: more than none, and no more than a day.
  var isLength: Bool { self > 0 && self <= 86_400 }
}
