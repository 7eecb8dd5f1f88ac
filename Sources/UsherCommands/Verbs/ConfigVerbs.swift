import ArgumentParser
import UsherConfig

struct ConfigVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Check or print the configuration, without the daemon.",
    subcommands: [ConfigCheckVerb.self, ConfigShowVerb.self])
}

/// The arguments that name the configuration files to read. Default: `usherd.toml` and
/// `conf.d/*.toml` in the daemon's folder.
struct ConfigFileArguments: ParsableArguments {
  @Argument(help: "Default: /etc/usherd/usherd.toml and /etc/usherd/conf.d/*.toml.")
  var files: [String] = []

  /// Reads the files.
  ///
  /// - Throws: `ConfigError` with every problem; ``CommandFailure`` if a file cannot be read.
  func load(in environment: CommandEnvironment) throws -> (config: Config, files: [String]) {
    let paths = files.isEmpty ? Self.standard(environment.configFolder) : files
    return (try Self.load(paths), paths)
  }

  static func load(_ paths: [String]) throws -> Config {
    try Config.load(contents: paths.map { (path: $0, bytes: try Files.read($0)) })
  }

  private static func standard(_ folder: String) -> [String] {
    let main = "\(folder)/usherd.toml"
    return (Files.exist(main) ? [main] : []) + Files.list("\(folder)/conf.d", ending: ".toml")
  }
}

struct ConfigCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check configuration files; report file, line and key.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var files: ConfigFileArguments

  func run(at context: CommandContext) async throws {
    let (config, paths) = try files.load(in: context.environment)
    guard !paths.isEmpty else {
      throw CommandFailure("no configuration file in \(context.environment.configFolder)")
    }
    let problems =
      Files.trustProblems(of: paths, as: context.environment.userID)
      + config.executableProblems(
        daemonUser: context.environment.daemonUser, names: context.environment.names)
    guard problems.isEmpty else { throw ConfigError(problems) }
    for warning in config.warnings { context.console.printMessage("usherctl: warning: \(warning)") }
    let providers = config.providers.count.counting("provider")
    context.console.print("ok: \(providers), \(config.clients.count.counting("client rule"))")
  }
}

struct ConfigShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print the effective configuration, defaults included.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var files: ConfigFileArguments

  func run(at context: CommandContext) async throws {
    let (config, paths) = try files.load(in: context.environment)
    if paths.isEmpty {
      context.console.printMessage(
        "no configuration file in \(context.environment.configFolder); showing the defaults")
    }
    try context.show(value: config) { context.console.printLines($0.show()) }
  }
}
