import ArgumentParser
import UsherAPI
import UsherCore

struct OwnerListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: OwnerList.summary)

  @OptionGroup var options: GlobalOptions

  func run(at desk: Desk) async throws {
    try await desk.show(OwnerList()) { reply in
      desk.console.table(
        ["UID", "USER", "SINCE", "STATE", "NOW"],
        reply.owners.map { owner in
          [
            "\(owner.uid)", owner.user ?? "(no name)", "\(owner.recordedAt)", owner.state.rawValue,
            owner.now ?? "",
          ]
        })
      if reply.owners.isEmpty { desk.console.note("no user has called yet") }
    }
  }
}
