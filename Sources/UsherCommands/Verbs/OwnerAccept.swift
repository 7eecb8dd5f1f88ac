import ArgumentParser
import UsherAPI

struct OwnerAcceptVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Accept the user whom a uid has now as the owner of what is stored for the uid.",
    discussion: "For a user who was renamed. For another person: usherctl owner forget.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The uid; see usherctl owner list.")
  var uid: UInt32

  func run(at context: CommandContext) async throws {
    try await context.show(OwnerAccept(uid: uid)) { reply in
      let user = reply.user.map { "user \($0)" } ?? "a user without a name"
      context.console.note("what is stored for uid \(reply.uid) belongs to \(user) from now on")
    }
  }
}
