import ArgumentParser

struct FlowVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flow", abstract: "Run and manage flows, such as sign-ins.",
    subcommands: [
      FlowListVerb.self, FlowShowVerb.self, FlowCancelVerb.self, FlowRunVerb.self,
    ])
}
