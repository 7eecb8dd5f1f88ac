import ArgumentParser

struct AuditVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Who got what.",
    discussion: "Asks on the admin socket. Without a command it lists.",
    subcommands: [AuditListVerb.self, AuditVerifyVerb.self],
    defaultSubcommand: AuditListVerb.self)
}
