import ArgumentParser
import UsherClient

struct TOTPListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List your accounts that have one-time codes.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only accounts at this provider.")
  var provider: ProviderName?

  func run(at context: CommandContext) async throws {
    try await context.show(TOTPList(provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "LABEL", "DIGITS", "PERIOD"],
        reply.accounts.map { entry in
          [
            "\(entry.account)", "\(entry.provider)", entry.label, "\(entry.digits)",
            "\(entry.periodSeconds) s",
          ]
        }, none: "no accounts with one-time codes")
    }
  }
}
