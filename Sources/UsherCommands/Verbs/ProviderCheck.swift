import ArgumentParser
import UsherClient

struct ProviderCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Test a provider: discovery, credential, keys, clock.",
    discussion: "Uses the admin socket. Exits with 1 if a check fails.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: String

  func run(at context: CommandContext) async throws {
    let (reply, json) = try await context.admin.callWithJSON(
      ProviderCheck(provider: ProviderName(name)))
    if context.printsJSON {
      context.console.json(json)
    } else {
      context.console.table(
        ["CHECK", "RESULT", "MESSAGE"],
        reply.findings.map { [$0.subject, $0.fine ? "ok" : "FAILED", $0.message] })
    }
    if !reply.healthy { throw CommandFailure.silent(.failed) }
  }
}
