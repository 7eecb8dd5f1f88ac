import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct ProviderCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Try a provider: discovery, credential, keys, clock.",
    discussion: "Asks on the admin socket. Exits with 1 when something is not well.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var name: String

  func run(at desk: Desk) async throws {
    let (reply, json) = try await desk.admin.answer(
      to: ProviderCheck(provider: ProviderName(name)))
    if desk.printsJSON {
      desk.console.json(json)
    } else {
      desk.console.table(
        ["CHECK", "RESULT", "MESSAGE"],
        reply.findings.map { [$0.subject, $0.fine ? "ok" : "FAILED", $0.message] })
    }
    if !reply.healthy { throw Failure.silent(Failure.Status.failed) }
  }
}
