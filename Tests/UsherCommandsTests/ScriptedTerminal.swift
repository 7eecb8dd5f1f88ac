import Synchronization
import UsherCommands
import UsherCore

/// A terminal whose typing is written beforehand and whose screen can be read afterwards.
final class ScriptedTerminal: Terminal, Browser {
  private struct Screen {
    var typed: [String]
    var output = ""
    var error = ""
    var hiddenLines: [String] = []
    var opened: [String] = []
  }

  let isInteractive: Bool
  private let hasScreen: Bool
  private let screen: Mutex<Screen>
  /// Never ends and never says anything: what waits here waits until it is cancelled.
  private let silence: Bool

  /// - Parameter silence: After the last line nobody types, instead of the input's end.
  init(
    _ typed: [String] = [], interactive: Bool = false, silence: Bool = false,
    hasScreen: Bool = false
  ) {
    isInteractive = interactive
    self.silence = silence
    self.hasScreen = hasScreen
    screen = Mutex(Screen(typed: typed))
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
    if silence {
      for await _ in AsyncStream<Void>.makeStream().stream {}
      throw CancellationError()
    }
    return nil
  }

  func readAll(limit: Int) async throws -> [UInt8] {
    screen.withLock { Array($0.typed.joined(separator: "\n").utf8.prefix(limit + 1)) }
  }

  func open(_ url: String) -> Bool {
    screen.withLock { $0.opened.append(url) }
    return hasScreen
  }
}

struct FixedClock: Clock {
  func now() -> Timestamp { Timestamp(rfc3339: "2030-01-01T00:00:00Z")! }
}
