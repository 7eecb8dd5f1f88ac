extension SubordinateUsers {
  /// The parts of `/etc/subuid` that could not be read, for warnings in the journal.
  package struct Gaps: Sendable, Equatable {
    private static let maxNamed = 8

    /// The line numbers of the first ``maxNamed`` malformed lines.
    private var lines: [Int] = []
    private var lineCount = 0
    /// The first ``maxNamed`` user names whose look-up failed, each with the cause.
    private var failures: [String] = []
    private var failureCount = 0
    /// Whether the file is longer than 4 MiB, so that its end was not read.
    var isCut = false

    package init() {}

    package var isEmpty: Bool { self == Gaps() }

    mutating func addLine(_ number: Int) {
      lineCount += 1
      if lines.count < Self.maxNamed { lines.append(number) }
    }

    mutating func addFailure(_ name: String, _ cause: String) {
      failureCount += 1
      if failures.count < Self.maxNamed { failures.append("\(name) (\(cause))") }
    }

    /// One sentence for each kind of gap, to be logged.
    package var warnings: [String] {
      var warnings: [String] = []
      if lineCount > 0 {
        let list = Self.list(lines.map { "\($0)" }, of: lineCount)
        warnings.append(
          "/etc/subuid: lines that cannot be read are ignored; correct them (NAME:FIRST:COUNT): "
            + list)
      }
      if isCut {
        warnings.append(
          "/etc/subuid is longer than 4 MiB; its rest was not read: uids from \(firstUnsure) that "
            + "no line read contains count as subordinate ids of unknown users; shorten the file")
      }
      if failureCount > 0 {
        warnings.append(
          "/etc/subuid: the look-up of users failed, their subordinate ids count as those of unknown "
            + "users; check the user database: " + Self.list(failures, of: failureCount))
      }
      return warnings
    }

    private static func list(_ named: [String], of count: Int) -> String {
      let unnamed = count - named.count
      return named.joined(separator: ", ") + (unnamed > 0 ? " and \(unnamed) more" : "")
    }
  }
}
