import ArgumentParser
import UsherAPI
import UsherClient
import UsherCore

struct OwnerForgetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Forget all that is stored for a uid; tokens are revoked where the provider can.",
    discussion: """
      For a user who was removed, and for a uid that another person has now: accounts, flows, the \
      passcode, questions and answers.
      """)

  /// Long enough to revoke the tokens of many accounts at slow providers.
  private static let deadline = Duration.seconds(1800)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The uid; see usherctl owner list.")
  var uid: UInt32

  func run(at context: CommandContext) async throws {
    let (reply, json) = try await context.admin.answer(
      to: OwnerForget(uid: uid), deadline: Self.deadline)
    if context.printsJSON { return context.console.json(json) }
    let (accounts, flows) = (reply.accounts, reply.flows)
    context.console.say(
      "forgot \(accounts) account\(accounts == 1 ? "" : "s") and \(flows) "
        + "flow\(flows == 1 ? "" : "s") of uid \(reply.uid)")
    guard reply.notRevoked > 0 else { return }
    context.console.note(
      "the tokens of \(reply.notRevoked) are not revoked so far, and may live until they expire")
  }
}
