import Dispatch
import Glibc
import Synchronization
import UsherClient

/// Standard input, output and error of this process: terminals, pipes or files.
package final class StandardTerminal: Terminal {
  private let input = Mutex(LineInput(file: STDIN_FILENO))
  private let reader = DispatchQueue(label: "usherctl.input")

  /// Whether the terminal cannot move the cursor, or its type is unknown.
  private let isDumb: Bool

  package init(environment: [String: String]) {
    isDumb = ["", "dumb"].contains(environment["TERM"] ?? "")
  }

  package var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

  package var columns: Int? {
    guard !isDumb, isInteractive, isatty(STDERR_FILENO) == 1, Self.isInForeground else {
      return nil
    }
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Whether this process is in the foreground. In the background another program uses the screen,
  /// and changing the terminal's input would stop this process (SIGTTOU).
  private static var isInForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

  package func write(_ text: String, to stream: TerminalStream) {
    let file = stream == .output ? STDOUT_FILENO : STDERR_FILENO
    var text = text
    let isWritten = text.withUTF8 { Files.writeAll(UnsafeRawBufferPointer($0), to: file) }
    if !isWritten { handleWriteFailure(stream, errno) }
  }

  /// Ends usherctl after a failed write to standard output: the reader is gone or the disk is full,
  /// and a script must not take partial output for all of it.
  private func handleWriteFailure(_ stream: TerminalStream, _ failure: CInt) {
    guard stream == .output else { return }
    if failure == EPIPE {
      signal(SIGPIPE, SIG_DFL)
      raise(SIGPIPE)
    }
    write(
      "usherctl: the output cannot be written: \(String(cString: strerror(failure)))\n", to: .error)
    exit(1)
  }

  package func readLine(echo: Bool) async throws -> String? {
    let isInteractive = isInteractive
    let hidden = echo || !isInteractive ? nil : HiddenTyping(file: STDIN_FILENO)
    defer { hidden?.end() }
    return try await reading { input, isCancelled in
      while !isCancelled.isRaised {
        if let line = input.takeLine() { return line }
        if input.hasEnded { return input.takeRest() }
        guard input.bytes.count < LineInput.limit else {
          throw CommandFailure("the typed line is longer than \(LineInput.limit) bytes")
        }
        input.readMore(within: LineInput.pollInterval)
      }
      if isInteractive && Self.isInForeground { input.discard() }
      throw CancellationError()
    }
  }

  package func readAll(limit: Int) async throws -> [UInt8] {
    let isInteractive = isInteractive
    return try await reading { input, isCancelled in
      while !isCancelled.isRaised {
        if input.hasEnded || input.bytes.count > limit {
          // At a terminal, Ctrl-D ends only this read; the person can type more later.
          if isInteractive { input.hasEnded = false }
          return input.takeAll(limit: limit + 1)
        }
        input.readMore(within: LineInput.pollInterval)
      }
      throw CancellationError()
    }
  }

  /// Runs a blocking read on a queue of its own.
  private func reading<T: Sendable>(
    _ body: @escaping @Sendable (inout LineInput, CancelFlag) throws -> T
  ) async throws -> T {
    try await CancelFlag.run(on: reader) { isCancelled in
      try self.input.withLock { try body(&$0, isCancelled) }
    }
  }
}
