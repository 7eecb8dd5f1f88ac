import ArgumentParser
import UsherClient

struct FlowListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List your flows, including those that ended within the last day.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only flows at this provider.")
  var provider: ProviderName?

  @Option(help: "Only flows of this kind.")
  var kind: String?

  @Option(help: "Only flows with this status: active, succeeded, failed, cancelled, expired.")
  var status: FlowStatus?

  func run(at context: CommandContext) async throws {
    try await context.show(FlowList(provider: provider, kind: kind, status: status)) { reply in
      context.console.table(
        ["FLOW", "PROVIDER", "KIND", "STATUS", "STATE", "UPDATED"],
        reply.flows.map { flow in
          [
            "\(flow.id)", "\(flow.provider)", flow.kind, flow.status.rawValue, flow.state,
            "\(flow.updatedAt)",
          ]
        }, none: "no flows")
    }
  }
}
