import ArgumentParser
import UsherClient

struct OwnerVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "owner", abstract: "Decide who owns stored data after a uid was reassigned.",
    discussion: """
      usherd stores data per uid and remembers the user name of each uid. While a uid has another \
      name, usherd withholds its data until an operator decides: usherctl owner accept if the user \
      was renamed, usherctl owner forget if another person has the uid now.

      After removing a user, run: usherctl owner forget UID. Uses the admin socket.
      """,
    subcommands: [OwnerListVerb.self, OwnerAcceptVerb.self, OwnerForgetVerb.self])
}

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

struct OwnerAcceptVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Accept a uid's present user as the owner of the uid's stored data.",
    discussion:
      "Use this if the user was renamed. If it is another person, use usherctl owner forget.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The uid; see usherctl owner list.")
  var uid: UInt32

  func run(at context: CommandContext) async throws {
    try await context.show(OwnerAccept(uid: uid)) { reply in
      let user = reply.user.map { "user \($0)" } ?? "a user without a name"
      context.console.printMessage("\(user) now owns the data stored for uid \(reply.uid)")
    }
  }
}

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
