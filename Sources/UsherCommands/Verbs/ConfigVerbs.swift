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
