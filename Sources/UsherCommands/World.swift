package import UsherCore

/// What a command line is run in.
package struct World: Sendable {
  package var terminal: any Terminal
  package var browser: any Browser
  package var clock: any Clock
  package var environment: [String: String]
  package var userID: UInt32
  /// Where the daemon's configuration is unless files are named.
  package var configFolder: String

  package init(
    terminal: any Terminal, browser: any Browser, clock: any Clock,
    environment: [String: String], userID: UInt32, configFolder: String = "/etc/usherd"
  ) {
    self.terminal = terminal
    self.browser = browser
    self.clock = clock
    self.environment = environment
    self.userID = userID
    self.configFolder = configFolder
  }
}

/// Standard input, output and error.
package protocol Terminal: Sendable {
  func write(_ text: String, to stream: TerminalStream)

  /// Whether a person is there to be asked: standard input is a terminal.
  var isInteractive: Bool { get }

  /// The next line of standard input without its end; nil at the end of the input.
  ///
  /// - Parameter echo: False hides what is typed, where a person types.
  /// - Throws: `CancellationError` as soon as the task is cancelled; what was typed so far stays.
  func readLine(echo: Bool) async throws -> String?

  /// All of standard input, but no more than `limit` bytes and one.
  func readAll(limit: Int) async throws -> [UInt8]
}

package enum TerminalStream: Sendable {
  case output
  case error
}

package protocol Browser: Sendable {
  /// Shows a page, if there is a screen to show it on.
  ///
  /// - Returns: Whether a browser was started.
  func open(_ url: String) -> Bool
}
