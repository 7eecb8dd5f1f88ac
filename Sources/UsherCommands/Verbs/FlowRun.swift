import ArgumentParser
import JSONRPC
import UsherAPI
import UsherClient
import UsherCore

struct FlowRunVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run any flow, answering its steps here.",
    discussion: """
      What a step asks for is read from standard input, a line each. Ctrl-C cancels the flow.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var provider: String

  @Argument(help: "The flow's kind; see usherctl provider show.")
  var kind: String

  @Option(help: ArgumentHelp("All parameters at once.", valueName: "json"))
  var params: String = "{}"

  @Option(
    name: .customLong("param"),
    help: ArgumentHelp("One parameter, a text; may be repeated.", valueName: "name=value"))
  var named: [NamedParam] = []

  @Option(help: ArgumentHelp("Begin it only once under this id.", valueName: "id"))
  var requestId: String?

  @Flag(help: "Print pages' addresses only.")
  var noBrowser = false

  func run(at desk: Desk) async throws {
    let params = try JSONValue(argument: params).with(named.map { ($0.name, $0.value) })
    let session = try await desk.app.flow(
      provider: provider, kind: kind, params: params, requestId: requestId)
    let flow = try await FlowRunner(session, at: desk, opensBrowser: !noBrowser).run()
    let (reply, json) = try await desk.app.answer(to: FlowGet(flow: flow.id))
    if desk.printsJSON {
      desk.show(reply.flow, json)
    } else {
      desk.console.say("flow \(flow.id): \(flow.status.rawValue)")
      desk.console.facts((flow.result?.objectValue ?? [:]).facts)
    }
  }
}
