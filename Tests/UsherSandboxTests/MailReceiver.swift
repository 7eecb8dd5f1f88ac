import Foundation
import Testing
import UsherTestKit

@testable import UsherSandbox

/// A real SMTP server: `mail_receiver.py`, run with the Python packages installed for the tests.
final class MailReceiver {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var unread = Data()
  private(set) var port = 0

  /// Whether Python and aiosmtpd are installed. If not, a note goes to standard error.
  static let isHere: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = ["-c", "import aiosmtpd"]
    process.standardError = FileHandle.nullDevice
    var isHere = false
    if (try? process.run()) != nil {
      process.waitUntilExit()
      isHere = process.terminationStatus == 0
    }
    if !isHere {
      FileHandle.standardError.write(
        Data("SKIPPED, NOT PROVEN: not here: aiosmtpd of \(python)\n".utf8))
    }
    return isHere
  }()

  private static let python: String = {
    let variables = ProcessInfo.processInfo.environment
    let cache = variables["XDG_CACHE_HOME"] ?? "\(variables["HOME"] ?? "")/.cache"
    return "\(variables["USHER_TEST_VENV"] ?? "\(cache)/usherd-test-venv")/bin/python"
  }()

  init() throws {
    process.executableURL = URL(fileURLWithPath: Self.python)
    process.arguments = [
      URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("mail_receiver.py").path
    ]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    port = try #require(Int(try line()))
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  /// Returns the next e-mail, and waits for it.
  func email() throws -> JSON { try JSON(parsing: Array(line().utf8)) }

  private func line() throws -> String {
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        defer { unread = Data(unread[(end + 1)...]) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      let reading = output.fileHandleForReading
      try #require(TestDeadline().isReadable(reading.fileDescriptor), "no e-mail arrived in time")
      let more = reading.availableData
      try #require(!more.isEmpty, "the mail server has ended")
      unread += more
    }
  }
}
