package import UsherCore

/// Runs system programs such as systemctl: without a shell and without secrets in the arguments.
package protocol Tools: Sendable {
  /// Returns the absolute path of the system program with this name; nil if it is not installed.
  func path(of name: String) -> String?

  /// Runs a program to its end.
  ///
  /// - Parameters:
  ///   - program: The absolute path of the program.
  ///   - input: The whole standard input of the program.
  ///   - limit: The time after which the program and its process group are ended.
  /// - Throws: `CancellationError` when the task is cancelled; the program is then ended.
  ///   ``CommandFailure`` if the program cannot be started or exceeds the limit.
  func run(
    _ program: String, _ arguments: [String], input: Secret, within limit: Duration
  ) async throws -> ToolEnding
}

/// The exit status and output of a system program. The output may be a key, so the description
/// omits it.
package struct ToolEnding: Sendable, Equatable, CustomStringConvertible {
  /// The exit status, or 128 plus the number of the signal that ended the program.
  package var status: Int32
  package var output: [UInt8] = []
  /// What the program wrote to standard error.
  package var errors = ""

  package var description: String { "status \(status), \(output.count) bytes" }

  var text: String { String(decoding: output, as: UTF8.self) }

  /// The last line of standard error, where programs usually tell the cause of a failure.
  var errorSummary: String {
    let lines = errors.split(separator: "\n").map { String($0.drop { $0 == " " }) }
    return lines.last { !$0.isEmpty } ?? "it ended with status \(status)"
  }
}

extension Tools {
  /// Returns the absolute path of the system program with this name.
  ///
  /// - Throws: ``CommandFailure`` if it is not installed.
  func find(_ name: String) throws -> String {
    guard let path = path(of: name) else { throw CommandFailure("\(name) is not installed") }
    return path
  }
}
