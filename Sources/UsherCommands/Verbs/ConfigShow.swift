import ArgumentParser
import UsherConfig

struct ConfigShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Print the effective configuration, defaults included.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var files: ConfigFiles

  func run(at desk: Desk) async throws {
    let (config, paths) = try files.load(in: desk.world)
    if paths.isEmpty {
      desk.console.note("there is no configuration in \(desk.world.configFolder): the defaults")
    }
    if desk.printsJSON {
      try desk.console.json(of: config)
    } else {
      desk.console.page(config.show())
    }
  }
}
