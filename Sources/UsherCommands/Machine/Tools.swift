package import UsherCore

/// Programs of the machine, such as systemctl: no shell, and nothing secret in their arguments.
package protocol Tools: Sendable {
  /// The program's absolute path; nil where there is none of that name.
  func path(of name: String) -> String?

  /// Runs a program to its end.
  ///
  /// - Parameters:
  ///   - program: Its absolute path.
  ///   - input: All of its standard input.
  ///   - limit: After so long it is ended.
  /// - Throws: `CancellationError` when the task is cancelled: it is ended then. ``Failure`` where it
  ///   cannot be started, or takes too long.
  func run(
    _ program: String, _ arguments: [String], input: Secret, within limit: Duration
  ) async throws -> ToolEnding
}

/// How a program of the machine ended, and what it said. It may be a key: it prints as less.
package struct ToolEnding: Sendable, Equatable, CustomStringConvertible {
  /// Its exit status, or 128 and the number of the signal that ended it.
  package var status: Int32
  package var output: [UInt8]
  /// Its standard error.
  package var errors: String

  package init(status: Int32, output: [UInt8] = [], errors: String = "") {
    self.status = status
    self.output = output
    self.errors = errors
  }

  package var description: String { "status \(status), \(output.count) bytes" }

  var text: String { String(decoding: output, as: UTF8.self) }

  /// What it said last: programs say first what they do, and then why they could not.
  var words: String {
    let lines = errors.split(separator: "\n").map { String($0.drop { $0 == " " }) }
    return lines.last { !$0.isEmpty } ?? "it ended with status \(status)"
  }
}

extension Tools {
  /// The program's path.
  ///
  /// - Throws: ``Failure`` naming it.
  func find(_ name: String) throws -> String {
    guard let path = path(of: name) else { throw Failure("\(name) is not installed") }
    return path
  }
}
