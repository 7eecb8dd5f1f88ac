import Foundation

/// A program under test; killed on deinitialization.
package final class RunningProgram: @unchecked Sendable {
  private let process: Process
  /// The file with its standard output and standard error.
  package let logPath: String

  /// - Parameter environment: Variables added to this process's own; an empty value removes one.
  package init(
    _ executable: String, _ arguments: [String], environment: [String: String] = [:],
    log logPath: String
  ) throws {
    self.logPath = logPath
    process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(environment) { _, new in new }.filter { !$0.value.isEmpty }
    if !FileManager.default.fileExists(atPath: logPath) {
      try Data().write(to: URL(fileURLWithPath: logPath))
    }
    guard let log = FileHandle(forWritingAtPath: logPath) else {
      throw TestError("cannot open the log file \(logPath)")
    }
    // The program has its own descriptor by now; Foundation would keep this one open.
    defer { try? log.close() }
    try log.seekToEnd()
    process.standardOutput = log
    process.standardError = log
    process.standardInput = FileHandle.nullDevice
    try process.run()
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  package var pid: Int32 { process.processIdentifier }
  package var isRunning: Bool { process.isRunning }
  package var log: String {
    FileManager.default.contents(atPath: logPath).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Sends SIGKILL, like a crash or a power failure, and waits for the end.
  package func killAtOnce() {
    kill(pid, SIGKILL)
    process.waitUntilExit()
  }

  /// Sends SIGTERM, and waits for the end.
  ///
  /// - Returns: The exit status, or the negative number of the signal that ended the process.
  @discardableResult
  package func stop(within seconds: Double = 60) throws -> Int32 {
    if process.isRunning { kill(pid, SIGTERM) }
    return try exitStatus(within: seconds)
  }

  package func exitStatus(within seconds: Double = 60) throws -> Int32 {
    try eventually(within: seconds, "the program has ended") { !process.isRunning }
    return process.terminationReason == .uncaughtSignal
      ? -process.terminationStatus : process.terminationStatus
  }
}

/// Runs a program until it ends.
package func run(
  _ executable: String, _ arguments: [String], environment: [String: String] = [:],
  input: String = "", within seconds: Double = 60
) throws -> (status: Int32, output: String, errors: String) {
  let place = try TemporaryDirectory()
  let process = Process()
  process.executableURL = URL(fileURLWithPath: executable)
  process.arguments = arguments
  process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
  try place.write(input, to: "in")
  for name in ["out", "err"] { try place.write("", to: name) }
  let input = FileHandle(forReadingAtPath: place.file("in"))
  let output = ["out", "err"].map { FileHandle(forWritingAtPath: place.file($0)) }
  process.standardInput = input
  process.standardOutput = output[0]
  process.standardError = output[1]
  // Foundation would keep the files open, which adds up over a thousand tests in one process.
  defer { for file in [input] + output { try? file?.close() } }
  try process.run()
  do {
    try eventually(within: seconds, "\(executable) has ended") { !process.isRunning }
  } catch {
    kill(process.processIdentifier, SIGKILL)
    throw error
  }
  let text = { (name: String) in
    String(
      decoding: FileManager.default.contents(atPath: place.file(name)) ?? Data(), as: UTF8.self)
  }
  return (process.terminationStatus, text("out"), text("err"))
}

/// Polls until the condition is true; for events in other processes that send no notification.
///
/// - Parameter seconds: The time limit; see ``TestDeadline``.
package func eventually(
  within seconds: Double = 60, _ what: String, _ holds: () throws -> Bool
) throws {
  let isMet = try TestDeadline(within: seconds).isMet { isLast in
    if try holds() { return true }
    if !isLast { poll(nil, 0, 10) }
    return false
  }
  guard isMet else { throw TestError("not within \(seconds) s: \(what)") }
}
