import Foundation
import JSONRPC
import UsherTestKit

/// A real mail server, with the Python packages of the tests; it ends when the test lets go of it.
final class MailReceiver {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var unread = Data()
  private(set) var port = 0

  /// Whether Python and aiosmtpd are here.
  static let isPossible: Bool = {
    let found = try? run(python, ["-c", "import aiosmtpd"])
    return found?.status == 0
  }()

  private static let python: String = {
    let variables = ProcessInfo.processInfo.environment
    let cache = variables["XDG_CACHE_HOME"] ?? "\(variables["HOME"] ?? "")/.cache"
    return "\(variables["USHER_TEST_VENV"] ?? "\(cache)/usherd-test-venv")/bin/python"
  }()

  init() throws {
    process.executableURL = URL(fileURLWithPath: Self.python)
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../UsherSandboxTests/mail_receiver.py").standardized
    process.arguments = [script.path]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    guard let port = Int(try line()) else { throw TestTrouble("the mail server has no port") }
    self.port = port
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// The next letter; waits ten seconds for one that has not come yet.
  func letter() throws -> JSONValue { try JSONValue(parsing: line()) }

  private func line() throws -> String {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      let reading = output.fileHandleForReading
      var waiting = pollfd(fd: reading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, 10_000) == 1 else { throw TestTrouble("no letter in ten seconds") }
      let more = reading.availableData
      guard !more.isEmpty else { throw TestTrouble("the mail server ended") }
      unread += more
    }
  }
}
