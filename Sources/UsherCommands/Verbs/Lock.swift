import ArgumentParser
import UsherAPI

struct LockVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: "Lock usherd: wipe secrets from memory until unlock.",
    discussion: """
      While locked, flows are paused and no tokens are issued, also after a restart. Without \
      --admin a rule must allow this call.
      """)

  @OptionGroup var options: GlobalOptions

  @Flag(help: "Use the admin socket.")
  var admin = false

  func run(at context: CommandContext) async throws {
    try await context.show(SystemLock(), on: admin ? context.admin : context.app) { _ in
      context.console.printMessage("usherd is locked")
    }
  }
}
