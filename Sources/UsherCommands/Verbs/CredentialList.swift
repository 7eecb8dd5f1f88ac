import ArgumentParser
import UsherClient

struct CredentialListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the names of the stored credentials.")

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    try await context.show(CredentialList()) { reply in
      context.console.table(
        ["NAME", "SOURCE", "SET"],
        reply.credentials.map { [$0.name, $0.source.rawValue, $0.setAt.map { "\($0)" } ?? ""] },
        none: "no credentials")
    }
  }
}
