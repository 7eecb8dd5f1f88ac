import ArgumentParser
import UsherClient

struct OwnerForgetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Delete all data stored for a uid; revoke its tokens if the provider can.",
    discussion: """
      Use this if the user was removed, or if another person has the uid now. Deletes accounts, \
      flows, the passcode, questions and answers.
      """)

  /// The deadline of the call, in which the daemon can revoke the tokens of many accounts at slow
  /// providers.
  private static let deadline = Duration.seconds(1800)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The uid; see usherctl owner list.")
  var uid: UInt32

  func run(at context: CommandContext) async throws {
    try await context.show(OwnerForget(uid: uid), deadline: Self.deadline) { reply in
      let (accounts, flows) = (reply.accounts.counting("account"), reply.flows.counting("flow"))
      context.console.print("forgot \(accounts) and \(flows) of uid \(reply.uid)")
      guard reply.notRevoked > 0 else { return }
      context.console.printMessage(
        "the tokens of \(reply.notRevoked) are not yet revoked and may stay valid until they "
          + "expire")
    }
  }
}
