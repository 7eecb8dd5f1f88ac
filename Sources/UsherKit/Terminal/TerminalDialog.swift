import Dispatch
import Glibc
import Synchronization
import UsherClient

/// A place where a person reads lines and types answers.
protocol TerminalDialog: Sendable {
  func show(_ line: String)

  /// Shows a question and returns the typed line; nil at the end of the input, if the task is
  /// cancelled, and if nobody can answer.
  ///
  /// - Parameter isHidden: Whether the typed text must not appear.
  func ask(_ question: String, isHidden: Bool) async -> String?

  /// Whether a person can answer at present.
  var canAsk: Bool { get }

  /// Waits until no question is asked any more, at most for a second: a cancelled question ends
  /// sooner, and a question of another flow must not hold this one up.
  func settle() async
}

/// The terminal that controls this process, whatever its standard input and output are.
final class ControllingTerminal: TerminalDialog {
  private let file: CInt
  private let input: Mutex<LineInput>
  /// Asks one question at a time, and blocks no thread of the task pool.
  private let reader = DispatchQueue(label: "usherkit.terminal")

  /// Fails if the process has no controlling terminal.
  ///
  /// - Parameter path: The terminal; tests pass another one.
  init?(path: String = "/dev/tty") {
    file = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else { return nil }
    input = Mutex(LineInput(file: file))
  }

  deinit { close(file) }

  func show(_ line: String) { write(line + "\n") }

  func ask(_ question: String, isHidden: Bool) async -> String? {
    try? await CancelFlag.run(on: reader) { [file] isCancelled in
      guard self.canAsk else { return nil }
      let hidden = isHidden ? HiddenTyping(file: file) : nil
      defer { hidden?.end() }
      self.write(question + ": ")
      let line = self.input.withLock { $0.line(unless: isCancelled) }
      if isHidden || line == nil { self.write("\n") }
      return line
    }
  }

  /// False in the background, where a question would stop the process (SIGTTOU). A terminal that
  /// does not control this process has no foreground.
  var canAsk: Bool {
    let foreground = tcgetpgrp(file)
    return foreground < 0 || foreground == getpgrp()
  }

  func settle() async {
    let end = DispatchGroup()
    reader.async(group: end) {}
    _ = try? await CancelFlag.run(on: .global()) { _ in end.wait(timeout: .now() + .seconds(1)) }
  }

  /// Writes a text; the terminal may not show all of it if it goes away.
  private func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var bytes = UnsafeRawBufferPointer(bytes)
      while !bytes.isEmpty {
        let count = Glibc.write(file, bytes.baseAddress, bytes.count)
        if count < 0 && errno == EINTR { continue }
        guard count > 0 else { return }
        bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
      }
    }
  }
}

extension LineInput {
  /// Waits for a line; returns nil at the end of the input, for a line that is too long, and if the
  /// flag is raised. Then text that was typed for this question is discarded.
  fileprivate mutating func line(unless isCancelled: CancelFlag) -> String? {
    while !isCancelled.isRaised, bytes.count < Self.limit {
      if let line = takeLine() { return line }
      if hasEnded {
        // Ctrl-D ends only this question; the person can answer the next one.
        hasEnded = false
        return takeRest()
      }
      readMore(within: Self.pollInterval)
    }
    discard()
    return nil
  }
}
