import ArgumentParser
import UsherConfig

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
