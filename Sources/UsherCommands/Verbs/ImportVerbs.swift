import ArgumentParser
import UsherClient
import UsherConfig

struct ImportVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Take over the configuration of another program.",
    subcommands: [ImportOIDCAgentVerb.self])
}

struct ImportOIDCAgentVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "oidc-agent",
    abstract: "Print the providers that correspond to the issuers of oidc-agent.",
    discussion: """
      Reads the issuers, public clients and names of accounts, and prints [[provider]] tables for \
      the configuration, and the commands that sign in. Tokens are encrypted and are not imported: \
      you sign in anew. Client secrets are not printed.

      Default folder: $OIDC_CONFIG_DIR, ~/.config/oidc-agent or ~/.oidc-agent.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: ArgumentHelp("The folder of oidc-agent.", valueName: "dir"))
  var folder: String?

  @Flag(help: "Append the providers to the configuration file.")
  var write = false

  @Flag(help: "Take issuers for which there is no account, too.")
  var all = false

  @Option(
    help: ArgumentHelp(
      "Default: ~/.config/usherd/usherd.toml; for root, /etc/usherd/usherd.toml.",
      valueName: "file"))
  var config: String?

  @Option(help: ArgumentHelp("oidc-agent's folder of this machine.", valueName: "dir"))
  var systemFolder = "/etc/oidc-agent"

  func run(at context: CommandContext) async throws {
    let place = try folder ?? Self.usualFolder(context.environment)
    let found = try OIDCAgentFolder(place, system: systemFolder)
    let file = ConfigurationFile(try config ?? Self.usualConfig(context.environment))
    let migration = OIDCAgentMigration(found, beside: try file.load(), takesAll: all)
    for warning in found.warnings + migration.omitted {
      context.console.printMessage("usherctl: \(warning)")
    }
    if write, !migration.providers.isEmpty { try file.append(migration.text) }
    guard !context.printsJSON else {
      try context.console.json(of: Report(found, migration, file: write ? file.path : nil))
      return
    }
    if !write, !migration.providers.isEmpty { context.console.printLines(migration.text) }
    for line in nextSteps(migration, found, file) { context.console.printMessage(line) }
  }

  /// Returns what the person does next, line by line.
  private func nextSteps(
    _ migration: OIDCAgentMigration, _ folder: OIDCAgentFolder, _ file: ConfigurationFile
  ) -> [String] {
    guard !migration.providers.isEmpty else {
      return ["nothing to import: no further issuer of oidc-agent can be used as it is"]
    }
    var lines = [
      write
        ? "appended \(migration.providers.count.counting("provider")) to \(file.path); next:"
        : "add these to \(file.path), or repeat this with --write; next:", "  usherctl reload",
    ]
    for provider in migration.providers {
      if let credential = provider.credential {
        lines.append("  usherctl credential set \(credential)")
      }
      lines.append("  usherctl provider check \(provider.name)")
      let accounts = provider.accounts.isEmpty ? [""] : provider.accounts
      for account in accounts {
        lines.append(
          "  usherctl login \(provider.name)"
            + (account.isEmpty ? "" : "    # in place of: oidc-add \(account)"))
      }
    }
    let known = Set(migration.providers.flatMap(\.accounts))
    let others = folder.accounts.filter { !known.contains($0) }
    if !others.isEmpty {
      lines.append(
        "the issuers of these accounts are encrypted; oidc-gen -p NAME shows them: "
          + others.joined(separator: " "))
    }
    return lines
  }

  private struct Report: Encodable {
    struct Provider: Encodable {
      var name: String
      var issuer: String
      var accounts: [String]
      var credential: String?
    }

    var providers: [Provider]
    var accounts: [String]
    var omitted: [String]
    var toml: String
    /// The file to which the providers were appended; nil if they were not.
    var file: String?

    init(_ folder: OIDCAgentFolder, _ migration: OIDCAgentMigration, file: String?) {
      providers = migration.providers.map {
        Provider(
          name: $0.name, issuer: $0.issuer, accounts: $0.accounts, credential: $0.credential)
      }
      accounts = folder.accounts
      omitted = folder.warnings + migration.omitted
      toml = migration.text
      self.file = migration.providers.isEmpty ? nil : file
    }
  }

  private static func usualFolder(_ environment: CommandEnvironment) throws -> String {
    if let folder = environment.variables["OIDC_CONFIG_DIR"], !folder.isEmpty { return folder }
    let home = try home(environment)
    let folders = ["\(home)/.config/oidc-agent", "\(home)/.oidc-agent"]
    guard let folder = folders.first(where: Files.exist) else {
      throw CommandFailure(
        "oidc-agent has no folder in \(home)",
        hints: ["name it: usherctl import oidc-agent DIR"])
    }
    return folder
  }

  private static func usualConfig(_ environment: CommandEnvironment) throws -> String {
    if environment.userID == 0 { return "\(environment.configFolder)/usherd.toml" }
    if let folder = environment.variables["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
      return "\(folder)/usherd/usherd.toml"
    }
    return "\(try home(environment))/.config/usherd/usherd.toml"
  }

  private static func home(_ environment: CommandEnvironment) throws -> String {
    guard let home = environment.variables["HOME"], home.hasPrefix("/") else {
      throw CommandFailure("$HOME is not set: name the folder and, with --config, the file")
    }
    return home
  }
}
