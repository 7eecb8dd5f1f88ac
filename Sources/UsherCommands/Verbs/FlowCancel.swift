import ArgumentParser
import UsherClient

struct FlowCancelVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Cancel a flow; a flow that has ended is unchanged.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The flow's id.")
  var flow: FlowID

  func run(at context: CommandContext) async throws {
    let (reply, json) = try await context.app.callWithJSON(FlowCancel(flow: flow))
    if context.printsJSON {
      context.show(reply.flow, json)
    } else {
      context.console.print("flow \(reply.flow.id): \(reply.flow.status.rawValue)")
    }
  }
}
