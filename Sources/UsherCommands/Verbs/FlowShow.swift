import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct FlowShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "One flow and where it stands.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The flow's id.")
  var flow: String

  func run(at desk: Desk) async throws {
    let (reply, json) = try await desk.app.answer(to: FlowGet(flow: FlowID(flow)))
    desk.show(reply.flow, json)
  }
}
