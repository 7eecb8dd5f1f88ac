import ArgumentParser
import UsherClient

struct AccountVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "account", abstract: "Manage signed-in accounts.",
    subcommands: [AccountListVerb.self, AccountShowVerb.self, AccountForgetVerb.self])
}

struct AccountListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List your accounts.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only accounts at this provider.")
  var provider: ProviderName?

  func run(at context: CommandContext) async throws {
    try await context.show(AccountList(provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "LABEL", "CREATED", "TOKENS"],
        reply.accounts.map { account in
          [
            "\(account.id)", "\(account.provider)", account.label, "\(account.createdAt)",
            account.tokens.map(\.status.rawValue).joined(separator: ", "),
          ]
        }, none: "no accounts")
    }
  }
}

struct AccountShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one account.")

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The account's id.")
  var account: AccountID

  func run(at context: CommandContext) async throws {
    try await context.show(AccountGet(account: account)) { reply in
      let account = reply.account
      context.console.printProperties([
        ("account", "\(account.id)"), ("provider", "\(account.provider)"),
        ("label", account.label), ("subject", account.subject),
        ("owner", account.owner.map(String.init)),
        ("client", account.client), ("created", "\(account.createdAt)"),
        ("kept alive", account.keepAlive ? "yes" : "no"),
      ])
      context.console.printProperties(account.attributes.properties)
      context.console.printProperties((account.profile ?? [:]).properties)
      for token in account.tokens {
        let expiry = token.expiresAt.map { ", expires \($0)" } ?? ""
        let scope = token.scope.isEmpty ? "" : ", scope \(token.scope)"
        context.console.print("token: \(token.status.rawValue)\(expiry)\(scope)")
      }
    }
  }
}

extension [String: JSONValue] {
  /// The members of the JSON object as names and values for printing. A member of a nested object
  /// gets a dotted name. Strings are printed as they are, other values as JSON. The value of null
  /// is nil, which is not printed.
  var properties: [(name: String, value: String?)] {
    sorted { $0.key < $1.key }.flatMap { name, value in
      let members = value.objectValue?.properties ?? []
      if !members.isEmpty { return members.map { ("\(name.printable).\($0.name)", $0.value) } }
      if value.isNull { return [(name.printable, nil)] }
      let text = value.stringValue ?? String(decoding: value.encoded(), as: UTF8.self)
      return [(name.printable, text)]
    }
  }
}

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
