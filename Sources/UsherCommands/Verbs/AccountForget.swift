import ArgumentParser
import UsherAPI

struct AccountForgetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Revoke an account's tokens at the provider, and wipe the account.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  @Flag(help: "Wipe the account without contacting the provider.")
  var noRevoke = false

  func run(at context: CommandContext) async throws {
    let method = AccountForget(
      account: which.account, provider: which.provider, revoke: noRevoke ? false : nil)
    try await context.show(method) { reply in
      context.console.print("forgot \(reply.account)")
      context.console.printRevocation(reply)
    }
  }
}
