import ArgumentParser
import UsherClient

struct ProviderCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Test a provider: discovery, credential, keys, clock.",
    discussion: "Uses the admin socket. Exits with 1 if a check fails.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: ProviderName

  func run(at context: CommandContext) async throws {
    let reply = try await context.show(ProviderCheck(provider: name)) { reply in
      context.console.table(
        ["CHECK", "RESULT", "MESSAGE"],
        reply.findings.map { [$0.subject, $0.fine ? "ok" : "FAILED", $0.message] })
    }
    if !reply.healthy { throw CommandFailure.silent }
  }
}
