import ArgumentParser

struct ProviderVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "provider", abstract: "The configured providers.",
    subcommands: [ProviderListVerb.self, ProviderShowVerb.self, ProviderCheckVerb.self])
}
