import ArgumentParser
import UsherAPI
import UsherCore

struct ProviderListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "The providers you may use.")

  @OptionGroup var options: GlobalOptions

  func run(at desk: Desk) async throws {
    try await desk.show(ProviderList()) { reply in
      desk.console.table(
        ["PROVIDER", "TYPE", "FLOWS"],
        reply.providers.map { provider in
          ["\(provider.name)", provider.type, provider.flows.map(\.kind).joined(separator: ", ")]
        })
    }
  }
}
