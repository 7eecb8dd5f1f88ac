import ArgumentParser
import UsherAPI

struct LockVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "End everything that holds a secret, until it is unlocked.",
    discussion: """
      Flows stand still, tokens are not given out, and it stays so over restarts. Without --admin a \
      rule must allow it.
      """)

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Ask on the admin socket.")
  var admin = false

  func run(at context: CommandContext) async throws {
    try await context.show(SystemLock(), on: admin ? context.admin : context.app) { _ in
      context.console.note("usherd is locked")
    }
  }
}
