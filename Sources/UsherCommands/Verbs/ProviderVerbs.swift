import ArgumentParser

struct ProviderVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "Show and test the configured providers.",
    subcommands: [ProviderListVerb.self, ProviderShowVerb.self, ProviderCheckVerb.self])
}
