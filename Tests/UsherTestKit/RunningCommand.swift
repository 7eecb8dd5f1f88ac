extension DaemonUnderTest {
  /// Starts `usherctl` against this daemon. What it prints is in the program's log.
  package func startUsherctl(_ arguments: [String]) throws -> RunningProgram {
    try RunningProgram(
      BuiltProduct.path("usherctl"),
      ["--socket", socketPath, "--admin-socket", adminSocketPath] + arguments,
      log: place.file("usherctl-\(UInt32.random(in: 0...UInt32.max)).log"))
  }
}

extension RunningProgram {
  /// Waits until the program has printed a text that the pattern matches, and returns that text.
  package func printed(_ what: String, _ pattern: Regex<Substring>) throws -> String {
    var found = ""
    try eventually("the program prints \(what): \(log)") {
      found = log.firstMatch(of: pattern).map { String($0.0) } ?? ""
      guard !found.isEmpty || isRunning else { throw TestError(log) }
      return !found.isEmpty
    }
    return found
  }
}
