public import ArgumentParser
public import UsherAPI
import UsherCore

struct FlowListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List your flows, including those that ended within the last day.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only flows at this provider.")
  var provider: String?

  @Option(help: "Only flows of this kind.")
  var kind: String?

  @Option(help: "Only flows with this status: active, succeeded, failed, cancelled, expired.")
  var status: FlowStatus?

  func run(at context: CommandContext) async throws {
    let method = FlowList(
      provider: provider.map { ProviderName($0) }, kind: kind, status: status)
    try await context.show(method) { reply in
      context.console.table(
        ["FLOW", "PROVIDER", "KIND", "STATUS", "STATE", "UPDATED"],
        reply.flows.map { flow in
          [
            "\(flow.id)", "\(flow.provider)", flow.kind, flow.status.rawValue, flow.state,
            "\(flow.updatedAt)",
          ]
        })
      if reply.flows.isEmpty { context.console.printMessage("no flows") }
    }
  }
}

extension FlowStatus: ExpressibleByArgument {}
