import Synchronization
import UsherCommands
import UsherCore

/// A terminal with prepared input, whose output can be inspected.
final class ScriptedTerminal: Terminal {
  private struct Screen {
    var typed: [String]
    var output = ""
    var error = ""
    var hiddenLines: [String] = []
    var opened: [String] = []
    var reader: CheckedContinuation<String, any Error>?
  }

  let isInteractive: Bool
  let columns: Int?
  private let hasScreen: Bool
  private let screen: Mutex<Screen>
  /// Whether a read after the last prepared line waits until it is cancelled.
  private let silence: Bool
  /// Yields each time a read begins to wait for input.
  let waits: AsyncStream<Void>
  private let beginWait: AsyncStream<Void>.Continuation

  /// - Parameter silence: Whether a read after the last line waits for ``type(_:)``, instead of
  ///   reaching the end of the input.
  init(
    _ typed: [String] = [], interactive: Bool = false, silence: Bool = false,
    hasScreen: Bool = false, columns: Int? = nil
  ) {
    isInteractive = interactive
    self.columns = columns
    self.silence = silence
    self.hasScreen = hasScreen
    screen = Mutex(Screen(typed: typed))
    (waits, beginWait) = AsyncStream.makeStream()
  }

  var output: String { screen.withLock { $0.output } }
  var error: String { screen.withLock { $0.error } }
  var hiddenLines: [String] { screen.withLock { $0.hiddenLines } }
  var opened: [String] { screen.withLock { $0.opened } }

  func write(_ text: String, to stream: TerminalStream) {
    screen.withLock { screen in
      switch stream {
      case .output: screen.output += text
      case .error: screen.error += text
      }
    }
  }

  func readLine(echo: Bool) async throws -> String? {
    let line = screen.withLock { screen -> String? in
      guard !screen.typed.isEmpty else { return nil }
      let line = screen.typed.removeFirst()
      if !echo { screen.hiddenLines.append(line) }
      return line
    }
    if let line { return line }
    return silence ? try await nextTyped() : nil
  }

  private func nextTyped() async throws -> String {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { reader in
        let line = screen.withLock { screen -> String? in
          if !screen.typed.isEmpty { return screen.typed.removeFirst() }
          screen.reader = reader
          return nil
        }
        if let line { return reader.resume(returning: line) }
        beginWait.yield()
        if Task.isCancelled { giveUp() }
      }
    } onCancel: {
      giveUp()
    }
  }

  private func giveUp() { reader()?.resume(throwing: CancellationError()) }

  private func reader() -> CheckedContinuation<String, any Error>? {
    screen.withLock { screen in
      defer { screen.reader = nil }
      return screen.reader
    }
  }

  /// Types a line: completes a waiting read, or keeps the line for the next one.
  func type(_ line: String) {
    if let reader = reader() {
      reader.resume(returning: line)
    } else {
      screen.withLock { $0.typed.append(line) }
    }
  }

  func readAll(limit: Int) async throws -> [UInt8] {
    screen.withLock { Array($0.typed.joined(separator: "\n").utf8.prefix(limit + 1)) }
  }

  func open(_ url: String) -> Bool {
    screen.withLock { $0.opened.append(url) }
    return hasScreen
  }
}

extension ScriptedTerminal {
  /// The lines that a terminal would show after everything written to standard error.
  var screenLines: [String] { ScreenModel(showing: error).lines }
}

/// A terminal with only the control sequences that overwriting a line needs.
private struct ScreenModel {
  private var rows: [[Character]] = [[]]
  private var place = (row: 0, column: 0)
  private var saved = (row: 0, column: 0)

  init(showing text: String) {
    var rest = text[...]
    while let next = rest.popFirst() {
      switch next {
      case "\n": newLine()
      case "\r": place.column = 0
      case "\u{1B}": escape(&rest)
      default: put(next)
      }
    }
  }

  var lines: [String] { rows.map { String($0) } }

  private mutating func newLine() {
    place = (place.row + 1, 0)
    if place.row == rows.count { rows.append([]) }
  }

  private mutating func put(_ character: Character) {
    if place.column == rows[place.row].count {
      rows[place.row].append(character)
    } else {
      rows[place.row][place.column] = character
    }
    place.column += 1
  }

  private mutating func escape(_ rest: inout Substring) {
    for (sequence, act) in Self.sequences where rest.hasPrefix(sequence) {
      rest = rest.dropFirst(sequence.count)
      return act(&self)
    }
    put("?")
  }

  private static let sequences: [(String, @Sendable (inout ScreenModel) -> Void)] = [
    ("7", { $0.saved = $0.place }), ("8", { $0.place = $0.saved }),
    ("[A", { $0.place.row = max(0, $0.place.row - 1) }),
    ("[K", { $0.rows[$0.place.row].removeSubrange($0.place.column...) }),
  ]
}
