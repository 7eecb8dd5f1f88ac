import ArgumentParser
import UsherAPI

struct CredentialDeleteVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "delete", abstract: "Delete a stored credential.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The credential's name.")
  var name: String

  func run(at context: CommandContext) async throws {
    try await context.show(CredentialDelete(name: name)) { _ in
      context.console.printMessage("credential \(name) deleted")
    }
  }
}
