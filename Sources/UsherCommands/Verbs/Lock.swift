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

  func run(at desk: Desk) async throws {
    try await desk.show(SystemLock(), on: admin ? desk.admin : desk.app) { _ in
      desk.console.note("usherd is locked")
    }
  }
}
