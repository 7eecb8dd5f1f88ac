import ArgumentParser
import UsherClient

struct FlowShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one flow and its current step.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The flow's id.")
  var flow: FlowID

  func run(at context: CommandContext) async throws {
    let (reply, json) = try await context.app.callWithJSON(FlowGet(flow: flow))
    context.show(reply.flow, json)
  }
}
