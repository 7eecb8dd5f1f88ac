import Glibc
import UsherHelpers

/// A time by which a call must be over, by the monotonic clock.
struct Deadline {
  private let end: Int64

  init(seconds: Int) { end = Self.now + Int64(seconds) * 1000 }

  /// The milliseconds that are left; 0 if none.
  var milliseconds: Int32 { Int32(clamping: max(end - Self.now, 0)) }

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Waits until the descriptor has the events or an error; false after the deadline.
  func wait(for events: Int32, on descriptor: Int32) -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    while true {
      let count = Glibc.poll(&poll, 1, milliseconds)
      if count > 0 { return true }
      guard count < 0 && errno == EINTR else { return false }
    }
  }
}

/// Standard input. What is read beyond a line stays for the next one.
struct StandardInput {
  private var pending: [UInt8] = []
  private var hasEnded = false

  enum Outcome {
    case bytes([UInt8])
    /// There are no more lines.
    case end
    case failed(String)
  }

  mutating func read(_ form: ToolInput, until deadline: Deadline) -> Outcome {
    switch form {
    case .none: return .bytes([])
    case .optionalBlock where isatty(STDIN_FILENO) == 1: return .bytes([])
    case .document, .block, .optionalBlock, .lines: break
    }
    while true {
      if let part = takePart(form) { return .bytes(part) }
      if hasEnded {
        if form == .lines && pending.isEmpty { return .end }
        defer { pending = [] }
        return .bytes(pending)
      }
      guard pending.count <= ToolInput.maxBytes else { return .failed("the input is too large") }
      guard deadline.wait(for: POLLIN, on: STDIN_FILENO) else {
        // A tool may keep its pipe open after its last line.
        if form == .lines && pending.isEmpty { return .end }
        return .failed("the input does not end in time")
      }
      guard readMore() else { return .failed("the input cannot be read") }
    }
  }

  /// Removes a complete line or block from what was read, and returns it; nil if there is none.
  private mutating func takePart(_ form: ToolInput) -> [UInt8]? {
    let newline = UInt8(ascii: "\n")
    switch form {
    case .lines:
      guard let end = pending.firstIndex(of: newline), end <= ToolInput.maxBytes else { return nil }
      defer { pending.removeFirst(end + 1) }
      return Array(pending[..<end])
    case .block, .optionalBlock:
      let isBlank = pending.first == newline
      let end =
        isBlank
        ? 0
        : pending.indices.dropFirst().first { index in
          pending[index] == newline && pending[index - 1] == newline
        }
      return end.map { Array(pending[..<$0]) }
    case .none, .document: return nil
    }
  }

  private mutating func readMore() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
    if count < 0 { return errno == EINTR || errno == EAGAIN }
    hasEnded = count == 0
    pending += buffer[..<count]
    return true
  }
}

/// Writes the whole text; false if the reader is gone.
func write(_ text: String, to descriptor: Int32) -> Bool {
  let bytes = Array(text.utf8)
  var written = 0
  while written < bytes.count {
    let count = bytes.withUnsafeBytes {
      Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written)
    }
    if count >= 0 {
      written += count
    } else if errno != EINTR {
      return false
    }
  }
  return true
}
