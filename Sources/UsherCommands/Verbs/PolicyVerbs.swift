import ArgumentParser
import UsherConfig

struct PolicyVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Show and test the access rules.",
    subcommands: [PolicyShowVerb.self, PolicyCheckVerb.self])
}

/// The option that selects from where rules are read: from the daemon, or from files.
struct RuleSource: ParsableArguments {
  @Option(
    name: .customLong("config"),
    help: ArgumentHelp(
      "Read the rules from this file, without the daemon; may be repeated.", valueName: "file"))
  var files: [String] = []

  /// Returns the configuration in the files; nil if no files are named, so that the daemon must be
  /// asked.
  ///
  /// - Throws: The errors of ``ConfigFileArguments/load(in:)``.
  func load() throws -> Config? { files.isEmpty ? nil : try ConfigFileArguments.load(files) }
}
