import Foundation

/// A program under test; killed when the test lets go of it.
package final class RunningProgram: @unchecked Sendable {
  private let process: Process
  /// Holds what it wrote on standard output and error.
  package let logPath: String

  /// - Parameter environment: Over this process's own; an empty value removes.
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
      throw TestError("no log file \(logPath)")
    }
    // The program has its own by then; Foundation would keep ours open.
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

  /// As a crash or the power: no time to tidy up.
  package func killAtOnce() {
    kill(pid, SIGKILL)
    process.waitUntilExit()
  }

  /// Asks it to stop, and waits for its exit.
  ///
  /// - Returns: The exit status; for a signal its negative number.
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

/// Runs a program to its end.
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
  // As above: open files add up over a thousand tests in one process.
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

/// Looks again and again until it holds; for what another process does and cannot tell us.
///
/// - Parameter seconds: The limit. A look counts for a quarter of a second at most, however long a busy
///   machine takes for it.
package func eventually(
  within seconds: Double = 60, _ what: String, _ holds: () throws -> Bool
) throws {
  var left = seconds
  var last = Date()
  while try !holds() {
    guard left > 0 else { throw TestError("not within \(seconds) s: \(what)") }
    poll(nil, 0, 10)
    let now = Date()
    left -= min(now.timeIntervalSince(last), 0.25)
    last = now
  }
}
