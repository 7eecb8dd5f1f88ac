import ArgumentParser

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
