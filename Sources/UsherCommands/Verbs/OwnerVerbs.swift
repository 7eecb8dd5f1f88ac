import ArgumentParser

struct OwnerVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "owner", abstract: "Whose the stored accounts are, where a uid was given anew.",
    discussion: """
      What usherd stores for a user belongs to the user's uid. usherd remembers the name that the uid \
      had, and withholds everything while the uid has another name: until an operator accepts the \
      new name, for a user who was renamed, or has all of it forgotten, for another person.

      After a user was removed: usherctl owner forget UID. Asks on the admin socket.
      """,
    subcommands: [OwnerListVerb.self, OwnerAcceptVerb.self, OwnerForgetVerb.self])
}
