import Glibc

/// The lines that are typed at a terminal, or that come from a pipe or a file.
package struct LineInput: Sendable {
  /// The interval, in milliseconds, at which a read should check whether its task was cancelled.
  package static let pollInterval: CInt = 100
  /// Upper bound for the length of a line, in bytes.
  package static let limit = 1 << 20

  private let file: CInt
  /// The bytes that were read and that no call has returned yet.
  package private(set) var bytes: [UInt8] = []
  package var hasEnded = false

  /// - Parameter file: The open file, which stays open.
  package init(file: CInt) { self.file = file }

  /// Removes and returns the first line; nil if there is no whole one.
  package mutating func takeLine() -> String? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { bytes.removeSubrange(...end) }
    return String(decoding: bytes[..<end], as: UTF8.self)
  }

  /// Removes and returns the last line, which has no newline; nil if there is none.
  package mutating func takeRest() -> String? {
    defer { bytes = [] }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  package mutating func takeAll(limit: Int) -> [UInt8] {
    defer { bytes = [] }
    return Array(bytes.prefix(limit))
  }

  /// Discards typed text that has not been read.
  package mutating func discard() {
    bytes = []
    tcflush(file, TCIFLUSH)
  }

  /// Reads the input that is available. If there is none, waits for some, at most this long.
  package mutating func readMore(within milliseconds: CInt) {
    var waiting = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, milliseconds) > 0 else { return }
    let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    if chunk.isEmpty { hasEnded = true } else { bytes += chunk }
  }
}

/// Turns the echo of a terminal off, until ``end()``.
package struct HiddenTyping {
  private let file: CInt
  private let before: termios

  /// Fails if the file is no terminal.
  package init?(file: CInt) {
    var settings = termios()
    guard tcgetattr(file, &settings) == 0 else { return nil }
    (self.file, before) = (file, settings)
    settings.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(file, TCSAFLUSH, &settings)
  }

  package func end() {
    var settings = before
    tcsetattr(file, TCSADRAIN, &settings)
  }
}
