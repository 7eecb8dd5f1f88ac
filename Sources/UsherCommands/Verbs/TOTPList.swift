import ArgumentParser
import UsherAPI
import UsherCore

struct TOTPListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Your accounts that have one-time codes.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only this provider's.")
  var provider: String?

  func run(at desk: Desk) async throws {
    try await desk.show(TOTPList(provider: provider.map { ProviderName($0) })) { reply in
      desk.console.table(
        ["ACCOUNT", "PROVIDER", "LABEL", "DIGITS", "PERIOD"],
        reply.accounts.map { entry in
          [
            "\(entry.account)", "\(entry.provider)", entry.label, "\(entry.digits)",
            "\(entry.periodSeconds) s",
          ]
        })
      if reply.accounts.isEmpty { desk.console.note("no accounts with one-time codes") }
    }
  }
}
