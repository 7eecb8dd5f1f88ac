import ArgumentParser
import UsherCore

/// The program usherctl.
package struct Usherctl {
  package static let version = "0.1.1"

  /// Parses and runs one command line; all output goes to the environment's terminal.
  ///
  /// - Parameter arguments: The arguments without the program's name.
  /// - Returns: The exit status, one of those that `usherctl --help` lists.
  package static func run(_ arguments: [String], in environment: CommandEnvironment) async -> Int32
  {
    let console = Console(environment.terminal)
    do {
      var command = try Root.parseAsRoot(arguments)
      guard let verb = command as? any Verb else {
        // The command is a group of verbs, or `help`; running either prints help.
        try command.run()
        return 0
      }
      try await verb.run(at: CommandContext(environment: environment, options: verb.options))
      return 0
    } catch {
      return report(error, on: console)
    }
  }

  private static func report(_ error: any Error, on console: Console) -> Int32 {
    if let failure = CommandFailure(error) {
      for line in failure.lines { console.printMessage(line) }
      return failure.status.rawValue
    }
    let status = Root.exitCode(for: error)
    console.printLines(Root.fullMessage(for: error), to: status == .success ? .output : .error)
    return status.rawValue
  }
}

/// The root command of usherctl with all subcommands.
struct Root: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usherctl",
    abstract: "Get tokens from usherd, sign in to accounts, and inspect the daemon.",
    discussion: """
      Exit status:
        0   done
        1   request refused, or check failed
        3   the flow failed, expired or was cancelled
        64  the command line is wrong
        69  usherd cannot be reached
        75  try again later
        77  not permitted

      Environment: USHER_SOCKET and USHER_ADMIN_SOCKET name the sockets.
      """,
    version: Usherctl.version,
    subcommands: [
      StatusVerb.self, LockVerb.self, UnlockVerb.self, ReloadVerb.self, LoginVerb.self,
      TokenVerbs.self, TargetVerbs.self, TOTPVerbs.self, AccountVerbs.self, ConsentVerbs.self,
      ConfirmVerbs.self,
      FlowVerbs.self, LocalAuthVerbs.self, RegistrationVerbs.self, ProviderVerbs.self,
      CredentialVerbs.self, OwnerVerbs.self, ConfigVerbs.self, PolicyVerbs.self, AuditVerbs.self,
      WatchVerb.self, ImportVerbs.self,
      RPCVerb.self, SetupVerb.self, BackupVerb.self, RestoreVerb.self, RecoverVerb.self,
    ])

  @OptionGroup var options: GlobalOptions
}

/// The options that every command accepts, before or after its name.
struct GlobalOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The daemon's socket.", valueName: "path"))
  var socket: String?

  @Option(help: ArgumentHelp("The daemon's admin socket.", valueName: "path"))
  var adminSocket: String?

  @Flag(help: "Print the daemon's reply as one line of JSON.")
  var json = false
}

/// A command of usherctl that performs an action, in contrast to a group of commands.
protocol Verb: AsyncParsableCommand {
  var options: GlobalOptions { get }

  /// Runs the command.
  ///
  /// - Throws: An error that ``CommandFailure`` turns into a message and an exit status.
  func run(at context: CommandContext) async throws
}
