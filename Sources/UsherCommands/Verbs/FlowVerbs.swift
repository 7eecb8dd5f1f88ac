import ArgumentParser
import UsherClient

struct FlowVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flow", abstract: "Run and manage flows, such as sign-ins.",
    subcommands: [
      FlowListVerb.self, FlowShowVerb.self, FlowCancelVerb.self, FlowRunVerb.self,
    ])
}

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

struct FlowRunVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run any flow and answer its steps in this terminal.",
    discussion: """
      Answers to steps are read from standard input, one line each. Ctrl-C cancels the flow.

      \(FlowOptions.discussion)
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The provider's name.")
  var provider: String

  @Argument(help: "The flow's kind; see usherctl provider show.")
  var kind: String

  @Option(help: ArgumentHelp("All parameters at once, or @FILE or @-.", valueName: "json"))
  var params: String = "{}"

  @Option(help: ArgumentHelp("Same as --param phoneNumber=NUMBER.", valueName: "number"))
  var phone: String?

  @Option(help: ArgumentHelp("Same as --param countryCode=CODE: two letters.", valueName: "code"))
  var country: String?

  @Option(help: ArgumentHelp("Start the flow only once for this id.", valueName: "id"))
  var requestId: String?

  @OptionGroup var flowOptions: FlowOptions

  func run(at context: CommandContext) async throws {
    let reader = FlowParams(context: context, provider: provider, kind: kind)
    let params = try await reader.json(
      try await reader.whole(params), shortForms, flowOptions.params)
    let flow = try await TerminalFlowRunner.run(
      provider, kind, params, requestId: requestId, at: context, flowOptions)
    if context.printsJSON {
      let (reply, json) = try await context.app.callWithJSON(FlowGet(flow: flow.id))
      context.show(reply.flow, json)
      return try flow.checkSuccess()
    }
    try flow.checkSuccess()
    context.console.print("flow \(flow.id): \(flow.status.rawValue)")
    context.console.printProperties((flow.result?.objectValue ?? [:]).properties)
  }

  private var shortForms: [ShortForm] {
    [
      ("--phone", "phoneNumber", phone.map(JSONValue.string)),
      ("--country", "countryCode", country.map(JSONValue.string)),
    ]
  }
}
