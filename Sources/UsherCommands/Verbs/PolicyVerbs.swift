import ArgumentParser
import UsherConfig

struct PolicyVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Who may do what, by which rule.",
    subcommands: [PolicyShowVerb.self, PolicyCheckVerb.self])
}

/// Where the rules are: with the daemon, or in files.
struct RuleSource: ParsableArguments {
  @Option(
    name: .customLong("config"),
    help: ArgumentHelp(
      "Without the daemon, the rules of this file; may be repeated.", valueName: "file"))
  var files: [String] = []

  /// Nil where the daemon is to be asked.
  ///
  /// - Throws: As ``ConfigFiles/load(in:)``.
  func load() throws -> Config? { files.isEmpty ? nil : try ConfigFiles.load(files) }
}
