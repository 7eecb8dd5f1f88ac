package import UsherConfig
package import UsherCore

/// What a command line is run in.
package struct CommandEnvironment: Sendable {
  package var terminal: any Terminal
  package var browser: any Browser
  package var programs: any Programs
  package var clock: any Clock
  /// Lets time pass; throws `CancellationError` as soon as the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  package var variables: [String: String]
  package var userID: UInt32
  /// Where the daemon's configuration is unless files are named.
  package var configFolder: String
  /// The users and groups that rules may name, for rules that no daemon answers for.
  package var names: PrincipalResolver
  /// systemctl and its like.
  package var tools: any Tools
  package var places: Places
  /// Where what is no text goes to.
  package var output: Int32

  package init(
    terminal: any Terminal, browser: any Browser, programs: any Programs, clock: any Clock,
    sleep: @escaping @Sendable (Duration) async throws -> Void,
    variables: [String: String], userID: UInt32, configFolder: String = "/etc/usherd",
    names: PrincipalResolver = .machine, tools: (any Tools)? = nil, places: Places? = nil,
    output: Int32 = 1
  ) {
    self.terminal = terminal
    self.browser = browser
    self.programs = programs
    self.clock = clock
    self.sleep = sleep
    self.variables = variables
    self.userID = userID
    self.configFolder = configFolder
    self.names = names
    self.tools = tools ?? MachineTools(environment: variables)
    self.places = places ?? Places(environment: variables)
    self.output = output
  }
}

extension CommandEnvironment {
  /// The user that a daemon of this machine runs as: its unit's; without one, whoever runs it by hand.
  var daemonUser: UInt32 { names.user("usherd") ?? userID }
}

/// Standard input, output and error.
package protocol Terminal: Sendable {
  func write(_ text: String, to stream: TerminalStream)

  /// Whether a person is there to be asked: standard input is a terminal.
  var isInteractive: Bool { get }

  /// How many characters a line of the screen has; nil where what was written cannot be written
  /// over.
  var columns: Int? { get }

  /// The next line of standard input without its end; nil at the end of the input.
  ///
  /// - Parameter echo: False hides what is typed, where a person types.
  /// - Throws: `CancellationError` as soon as the task is cancelled. What a person has typed so far is
  ///   then dropped: it was meant for a question that no longer stands.
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

/// Programs of the person's own.
package protocol Programs: Sendable {
  /// Runs a command line of the shell to its end; its standard error is this program's.
  ///
  /// - Parameters:
  ///   - input: All of its standard input.
  ///   - limit: After so long it is ended, and all that it has started with it.
  /// - Throws: `CancellationError` when the task is cancelled: it is ended likewise. ``Failure`` where
  ///   it cannot be started.
  func run(
    _ command: String, input: Secret, within limit: Duration
  ) async throws -> CommandEnding
}

/// How a command line ended.
package enum CommandEnding: Sendable, Equatable {
  /// With all that it wrote to its standard output; nothing where that is no text in UTF-8.
  case done(output: Secret)
  case failed(status: Int32)
  case killed(signal: Int32)
  /// It wrote more than anybody wants to read, and was ended.
  case endless
  case outOfTime
}
