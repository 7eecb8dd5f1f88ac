import ArgumentParser
import UsherClient

struct ProviderListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the providers you may use.")

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    try await context.show(ProviderList()) { reply in
      context.console.table(
        ["PROVIDER", "TYPE", "FLOWS"],
        reply.providers.map { provider in
          ["\(provider.name)", provider.type, provider.flows.map(\.kind).joined(separator: ", ")]
        })
    }
  }
}
