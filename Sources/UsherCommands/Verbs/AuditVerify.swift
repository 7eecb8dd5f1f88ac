import ArgumentParser
import UsherClient

struct AuditVerifyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check that the audit log is complete and unchanged.",
    discussion: """
      Checks every row. Exits with 1, and prints a line for each problem, if a row was altered, is \
      missing, or does not follow the row before it.
      """)

  /// The deadline of the call, in which the daemon can verify ten million rows.
  private static let deadline = Duration.seconds(1800)

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    let reply = try await context.show(AuditVerify(), deadline: Self.deadline) { reply in
      for finding in reply.findings { context.console.print(finding.message) }
      context.console.print(reply.summary)
    }
    if !reply.whole { throw CommandFailure.silent }
  }
}

extension AuditVerify.Reply {
  fileprivate var summary: String {
    let rows =
      switch (first, last) {
      case (let first?, let last?): "rows \(first) to \(last)"
      default: "no rows"
      }
    return "\(whole ? "ok" : "FAILED"): \(rows), begun at \(begunAt)"
  }
}
