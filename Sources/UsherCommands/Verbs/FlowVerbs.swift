import ArgumentParser

struct FlowVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flow", abstract: "Flows: sign-ins and the like, while they run.",
    subcommands: [
      FlowListVerb.self, FlowShowVerb.self, FlowCancelVerb.self, FlowRunVerb.self,
    ])
}
