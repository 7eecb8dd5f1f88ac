import ArgumentParser
import UsherCore

/// The command line of usherd.
package struct Usherctl {
  package static let version = "0.1.1"

  /// Parses and runs one command line; everything it says goes to the world's terminal.
  ///
  /// - Parameter arguments: Without the program's name.
  /// - Returns: The exit status, as `usherctl --help` lists them.
  package static func run(_ arguments: [String], in environment: CommandEnvironment) async -> Int32
  {
    let console = Console(environment.terminal)
    do {
      var command = try Root.parseAsRoot(arguments)
      guard let verb = command as? any Verb else {
        // A group of verbs, or `help`: both answer with help.
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
    if let failure = Failure(error) {
      for line in failure.lines { console.note(line) }
      return failure.status
    }
    let status = Root.exitCode(for: error)
    let text = Root.fullMessage(for: error)
    if status == .success { console.page(text) } else { console.notePage(text) }
    return status.rawValue
  }
}

/// The contract has a type of this name too; here it is the command line's.
typealias Option = ArgumentParser.Option

/// All that usherctl can do.
struct Root: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "usherctl",
    abstract: "Ask usherd for tokens, sign people in, and see how it is.",
    discussion: """
      Exit status:
        0   done
        1   usherd refused, or what was asked for is not well
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
      TokenVerbs.self, TOTPVerbs.self, AccountVerbs.self, ConsentVerbs.self, ConfirmVerbs.self,
      FlowVerbs.self, LocalAuthVerbs.self, RegistrationVerbs.self, ProviderVerbs.self,
      CredentialVerbs.self, OwnerVerbs.self, ConfigVerbs.self, PolicyVerbs.self, AuditVerbs.self,
      WatchVerb.self,
      RPCVerb.self, SetupVerb.self, BackupVerb.self, RestoreVerb.self, RecoverVerb.self,
    ])

  @OptionGroup var options: GlobalOptions
}

/// What every verb takes; may stand before or after it.
struct GlobalOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The daemon's socket.", valueName: "path"))
  var socket: String?

  @Option(help: ArgumentHelp("The daemon's admin socket.", valueName: "path"))
  var adminSocket: String?

  @Flag(help: "Print the daemon's reply as one line of JSON.")
  var json = false
}

/// One thing usherctl does.
protocol Verb: AsyncParsableCommand {
  var options: GlobalOptions { get }

  /// - Throws: What ``Failure`` knows, which becomes the message and the exit status.
  func run(at context: CommandContext) async throws
}
