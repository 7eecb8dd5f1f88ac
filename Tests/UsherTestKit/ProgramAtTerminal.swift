import Foundation

/// A program on a pseudo terminal, as if a person read and typed; killed on deinitialization.
package final class ProgramAtTerminal {
  package static let controlC = "\u{03}"
  /// Save cursor, cursor up, carriage return: the start of each overwritten line.
  package static let lineAbove = "\u{1B}7\u{1B}[A\r"

  private let process = Process()
  private let screen: CInt
  private var bytes: [UInt8] = []

  /// - Parameter output: A file for standard output; nil means the terminal.
  package init(
    _ executable: String, _ arguments: [String], columns: UInt16 = 100, output: String? = nil
  ) throws {
    var (screen, line): (CInt, CInt) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&screen, &line, nil, nil, &size) == 0 else {
      throw TestError("cannot open a pseudoterminal")
    }
    self.screen = screen
    defer { close(line) }
    // Close-on-exec: no child process of another test may keep the terminal open.
    for end in [screen, line] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A new session with this controlling terminal, so that Ctrl-C sends a signal to the program.
    process.executableURL = URL(fileURLWithPath: "/usr/bin/setsid")
    process.arguments = ["--ctty", "--wait", executable] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 }
    let terminal = FileHandle(fileDescriptor: line, closeOnDealloc: false)
    process.standardInput = terminal
    process.standardError = terminal
    process.standardOutput = output.flatMap { FileHandle(forWritingAtPath: $0) } ?? terminal
    try process.run()
  }

  deinit {
    close(screen)
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// Everything written to the screen so far, with echoed input and control sequences.
  package var text: String {
    var chunk = [UInt8](repeating: 0, count: 4096)
    var file = pollfd(fd: screen, events: Int16(POLLIN), revents: 0)
    while poll(&file, 1, 0) > 0 {
      let count = read(screen, &chunk, chunk.count)
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether input is echoed at the moment.
  package var echoes: Bool {
    var modes = termios()
    return tcgetattr(screen, &modes) == 0 && modes.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Types keys; `\r` is Enter.
  package func type(_ keys: String) throws {
    let keys = Array(keys.utf8)
    guard write(screen, keys, keys.count) == keys.count else {
      throw TestError("cannot write to the terminal: \(text)")
    }
  }

  package func shows(_ words: String, within seconds: Double = 60) throws {
    try eventually(within: seconds, "the screen shows \(words): \(text)") { text.contains(words) }
  }

  package func exitStatus() throws -> Int32 {
    try eventually("the program has ended: \(text)") {
      _ = text
      return !process.isRunning
    }
    return process.terminationStatus
  }
}
