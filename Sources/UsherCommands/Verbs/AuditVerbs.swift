import ArgumentParser

struct AuditVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Show the audit log.",
    discussion: "Uses the admin socket. Without a subcommand, lists the log.",
    subcommands: [AuditListVerb.self, AuditVerifyVerb.self],
    defaultSubcommand: AuditListVerb.self)
}
