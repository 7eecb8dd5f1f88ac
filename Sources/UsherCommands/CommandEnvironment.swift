import FoundationEssentials
import Glibc
package import UsherConfig
package import UsherCore

/// The parts of the operating system that usherctl uses; tests replace them.
package struct CommandEnvironment: Sendable {
  package var terminal: any Terminal
  /// Opens a page in the browser, if there is a graphical session; returns whether a browser was
  /// started.
  package var openPage: @Sendable (String) -> Bool
  package var programs: any Programs
  package var clock: any Clock
  /// Suspends the task for a duration; throws `CancellationError` as soon as the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void
  package var variables: [String: String]
  package var userID: UInt32
  /// The directory of the configuration files that are read if the command line names none.
  package var configFolder = "/etc/usherd"
  /// Resolves the names of users and groups in rules, for checks that run without a daemon.
  package var names = PrincipalResolver.machine
  /// Runs system programs such as systemctl.
  package var tools: any Tools
  package var directories: SystemDirectories
  /// The file descriptor to which a backup is written if its file is `-`, standard output.
  package var output: Int32 = 1

  /// Returns the environment of this process.
  package static func ofProcess() -> CommandEnvironment {
    let variables = ProcessInfo.processInfo.environment
    return CommandEnvironment(
      terminal: StandardTerminal(environment: variables),
      openPage: { DesktopBrowser.open($0, environment: variables) }, programs: Shell(),
      clock: SystemClock(), sleep: { try await Task.sleep(for: $0) }, variables: variables,
      userID: geteuid(), tools: MachineTools(environment: variables),
      directories: SystemDirectories(environment: variables))
  }
}

extension CommandEnvironment {
  /// The user that a daemon on this machine runs as: `usherd`, the user of the system service, if
  /// it exists, otherwise the current user.
  var daemonUser: UInt32 { names.user("usherd") ?? userID }
}

/// Standard input, output and error of usherctl; tests replace them.
package protocol Terminal: Sendable {
  func write(_ text: String, to stream: TerminalStream)

  /// Whether there is a person to ask: whether standard input is a terminal.
  var isInteractive: Bool { get }

  /// The width of the screen in characters; nil if printed lines cannot be overwritten.
  var columns: Int? { get }

  /// Returns the next line of standard input without its newline, or nil at the end of the input.
  ///
  /// - Parameter echo: Whether a terminal shows what is typed.
  /// - Throws: `CancellationError` as soon as the task is cancelled. Text typed so far is then
  ///   discarded, because it was meant for a question that is no longer asked.
  func readLine(echo: Bool) async throws -> String?

  /// Returns all of standard input, but at most `limit` + 1 bytes, so that the caller can detect
  /// input that is too long.
  func readAll(limit: Int) async throws -> [UInt8]
}

package enum TerminalStream: Sendable {
  case output
  case error
}

/// Runs shell command lines that the user passes in options such as `--exchange-command`.
package protocol Programs: Sendable {
  /// Runs a shell command line until it ends. Its standard error is that of usherctl.
  ///
  /// - Parameters:
  ///   - input: The whole standard input of the command.
  ///   - limit: The time after which the command and its process group are killed.
  /// - Throws: `CancellationError` when the task is cancelled; the command is then killed, too.
  ///   ``CommandFailure`` if the command cannot be started.
  func run(
    _ command: String, input: Secret, within limit: Duration
  ) async throws -> CommandEnding
}

/// How a shell command line ended.
package enum CommandEnding: Sendable, Equatable {
  /// Exit status 0, with the standard output; empty if that is not valid UTF-8.
  case done(output: Secret)
  case failed(status: Int32)
  case killed(signal: Int32)
  /// The command wrote more than the output limit.
  case outputTooLong
  case timedOut
}
