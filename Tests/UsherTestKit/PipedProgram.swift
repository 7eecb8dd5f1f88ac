import Foundation
package import JSONRPC

/// A program whose standard input is a pipe.
package final class PipedProgram {
  private let process = Process()
  private let input = Pipe()
  private let place: TemporaryDirectory

  package init(_ executable: String, _ arguments: [String], in place: TemporaryDirectory) throws {
    self.place = place
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = FileHandle(forWritingAtPath: try place.write("", to: "out"))
    process.standardError = FileHandle(forWritingAtPath: try place.write("", to: "log"))
    try process.run()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  package var isRunning: Bool { process.isRunning }

  package var output: String { contents("out") }

  /// The program's standard error: prompts and messages.
  package var log: String { contents("log") }

  private func contents(_ name: String) -> String {
    String(
      decoding: FileManager.default.contents(atPath: place.file(name)) ?? Data(), as: UTF8.self)
  }

  /// The flow in the one line of JSON that the program printed.
  package func reply() throws -> JSONValue {
    let lines = output.split(separator: "\n")
    guard lines.count == 1 else {
      throw TestError("the program did not print exactly one line: \(output)")
    }
    return try JSONValue(parsing: String(lines[0]))["flow"] ?? .null
  }

  package func type(_ lines: String...) throws {
    try input.fileHandleForWriting.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
  }

  package func exitStatus() throws -> Int32 {
    try eventually("the program has ended: \(log)") { !process.isRunning }
    return process.terminationStatus
  }
}
