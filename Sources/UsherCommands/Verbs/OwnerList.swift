import ArgumentParser
import UsherClient

struct OwnerListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: OwnerList.summary)

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    try await context.show(OwnerList()) { reply in
      context.console.table(
        ["UID", "USER", "SINCE", "STATE", "NOW"],
        reply.owners.map { owner in
          [
            "\(owner.uid)", owner.user ?? "(no name)", "\(owner.recordedAt)", owner.state.rawValue,
            owner.now ?? "",
          ]
        }, none: "no user has called yet")
    }
  }
}
