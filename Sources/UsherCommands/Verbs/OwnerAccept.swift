import ArgumentParser
import UsherAPI

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
