import ArgumentParser
import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

struct LoginVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Sign in at a provider.",
    discussion: """
      Prints the page to open, opens it where there is a screen, and waits until you come back. Over \
      SSH, paste the address your browser ended at. Ctrl-C cancels the sign-in.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var provider: String

  @Option(help: "The flow: authorize, or device to use another device's browser.")
  var kind = "authorize"

  @Option(help: "What to ask for; default: what the configuration says.")
  var scope: String?

  @Option(help: ArgumentHelp("Sign in to this account again.", valueName: "id"))
  var account: String?

  @Flag(help: "Print the page's address only.")
  var noBrowser = false

  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("Another parameter; may be repeated.", valueName: "name=value"))
  var params: [NamedParam] = []

  func run(at desk: Desk) async throws {
    let params = JSONValue.object([:])
      .with([("scope", scope), ("account", account)])
      .with(params.map { ($0.name, $0.value) })
    let session = try await desk.app.flow(provider: provider, kind: kind, params: params)
    let flow = try await FlowRunner(session, at: desk, opensBrowser: !noBrowser).run()
    guard let account = flow.result?["account"]?.stringValue else {
      throw Failure("the flow \(flow.id) succeeded without an account")
    }
    try await desk.show(AccountGet(account: AccountID(account))) { reply in
      desk.console.say("signed in as \(reply.account.label) (\(reply.account.id))")
    }
  }
}
