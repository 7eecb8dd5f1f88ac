import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct FlowCancelVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel a flow; one that has ended stays as it is.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The flow's id.")
  var flow: String

  func run(at desk: Desk) async throws {
    let (reply, json) = try await desk.app.answer(to: FlowCancel(flow: FlowID(flow)))
    if desk.printsJSON {
      desk.show(reply.flow, json)
    } else {
      desk.console.say("flow \(reply.flow.id): \(reply.flow.status.rawValue)")
    }
  }
}
