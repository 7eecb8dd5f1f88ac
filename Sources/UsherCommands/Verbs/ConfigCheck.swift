import ArgumentParser
import UsherConfig

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
    let providers = config.providers.count.counting("provider")
    context.console.print("ok: \(providers), \(config.clients.count.counting("client rule"))")
  }
}
