import Dispatch
import Glibc
import Synchronization

/// The terminal, pipe or file this process was started with.
package final class StandardTerminal: Terminal {
  fileprivate struct Input {
    var bytes: [UInt8] = []
    var hasEnded = false
  }

  /// How soon a cancelled read notices, in milliseconds.
  private static let glance: Int32 = 100
  /// Bytes of the longest line that is read.
  private static let lineLimit = 1 << 20

  private let input = Mutex(Input())
  private let reader = DispatchQueue(label: "usherctl.input")

  package init() {}

  package var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

  package func write(_ text: String, to stream: TerminalStream) {
    let file = stream == .output ? STDOUT_FILENO : STDERR_FILENO
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty {
        let count = Glibc.write(file, rest.baseAddress, rest.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return lost(stream, errno) }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }

  /// Output that cannot be written ends the program: whoever read it is gone and no more is wanted,
  /// or the disk is full and a script must not believe that it has got all.
  private func lost(_ stream: TerminalStream, _ trouble: CInt) {
    guard stream == .output else { return }
    if trouble == EPIPE {
      signal(SIGPIPE, SIG_DFL)
      raise(SIGPIPE)
    }
    write(
      "usherctl: the output cannot be written: \(String(cString: strerror(trouble)))\n", to: .error)
    exit(1)
  }

  package func readLine(echo: Bool) async throws -> String? {
    let hidden = echo || !isInteractive ? nil : HiddenTyping()
    defer {
      if let hidden {
        hidden.end()
        write("\n", to: .error)
      }
    }
    return try await reading { input, isCancelled in
      while !isCancelled() {
        if let line = input.takeLine() { return line }
        if input.hasEnded { return input.takeRest() }
        guard input.bytes.count < Self.lineLimit else { throw Failure("the line is too long") }
        input.readMore(within: Self.glance)
      }
      throw CancellationError()
    }
  }

  package func readAll(limit: Int) async throws -> [UInt8] {
    try await reading { input, isCancelled in
      while !isCancelled() {
        if input.hasEnded || input.bytes.count > limit {
          return Array(input.bytes.prefix(limit + 1))
        }
        input.readMore(within: Self.glance)
      }
      throw CancellationError()
    }
  }

  /// Runs a read that blocks where it blocks nobody else.
  private func reading<T: Sendable>(
    _ body: @escaping @Sendable (inout Input, () -> Bool) throws -> T
  ) async throws -> T {
    let isCancelled = Flag()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        reader.async {
          continuation.resume(
            with: Result {
              try self.input.withLock { try body(&$0) { isCancelled.isRaised } }
            })
        }
      }
    } onCancel: {
      isCancelled.raise()
    }
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isRaised: Bool { value.load(ordering: .relaxed) }
    func raise() { value.store(true, ordering: .relaxed) }
  }
}

extension StandardTerminal.Input {
  fileprivate mutating func takeLine() -> String? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { bytes.removeSubrange(...end) }
    return String(decoding: bytes[..<end], as: UTF8.self)
  }

  /// The last line, which has no end; nil when there is none.
  fileprivate mutating func takeRest() -> String? {
    defer { bytes = [] }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Reads what there is, or waits for a moment.
  fileprivate mutating func readMore(within milliseconds: Int32) {
    var file = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    guard poll(&file, 1, milliseconds) > 0 else { return }
    let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
      count = max(0, read(STDIN_FILENO, buffer.baseAddress, buffer.count))
    }
    if chunk.isEmpty { hasEnded = true } else { bytes += chunk }
  }
}

/// A terminal that does not show what is typed, until ``end()``.
private struct HiddenTyping {
  private let before: termios

  init?() {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
    before = settings
    settings.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
  }

  func end() {
    var settings = before
    tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
  }
}
