import ArgumentParser
import UsherClient

struct TokenVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Get and manage access tokens.",
    subcommands: [
      TokenGetVerb.self, TokenProofVerb.self, TokenListVerb.self, TokenRevokeVerb.self,
    ])
}

struct TokenGetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print a valid access token or ID token, and nothing else.",
    discussion: """
      For use in scripts:
        curl -H "Authorization: Bearer $(usherctl token get work)" https://api.example.com/
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  @Flag(help: "Print the ID token, which tells another service who you are.")
  var idToken = false

  @Option(help: "The scopes of the token. Default: all that were granted.")
  var scope: String?

  @Option(help: "The audience of the token.")
  var audience: String?

  @Option(
    help: ArgumentHelp("Refresh the token unless it is valid for this long.", valueName: "seconds"))
  var minValid: Int?

  @Flag(help: "Refresh the token even if it is valid.")
  var forceRefresh = false

  @Option(
    help: ArgumentHelp(
      "The header WWW-Authenticate with which a service has refused the token.",
      valueName: "header"))
  var challenge: String?

  func run(at context: CommandContext) async throws {
    let method = TokenGet(
      account: which.account, provider: which.provider, field: idToken ? .idToken : nil,
      scope: scope, audience: audience, minValidSeconds: minValid,
      forceRefresh: forceRefresh ? true : nil, challenge: challenge)
    try await context.show(method) { reply in
      guard let token = (idToken ? reply.idToken : reply.accessToken)?.secret else {
        throw CommandFailure("usherd's answer has no token; is it of another version?")
      }
      // RFC 6750 § 2.1 and RFC 6749 § A.12: visible ASCII only.
      guard token.revealed().utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw CommandFailure("the provider's token has characters that a token cannot have")
      }
      context.console.reveal(token)
    }
  }
}

struct TokenProofVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "proof",
    abstract: "Print the headers of one request with a DPoP token: Authorization and DPoP.",
    discussion: """
      For providers with dpop = true, whose tokens are useless without a proof for each request:
        url=https://api.example.com/orders
        usherctl token proof work --url $url | curl -H @- $url
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  @Option(help: "The HTTP method of the request.")
  var method = "GET"

  @Option(help: "The URL of the request.")
  var url: String

  @Option(help: "The header DPoP-Nonce with which the service has refused a proof.")
  var nonce: String?

  @Option(help: "The scopes of the token. Default: all that were granted.")
  var scope: String?

  @Option(help: "The audience of the token.")
  var audience: String?

  func run(at context: CommandContext) async throws {
    let call = TokenProof(
      account: which.account, provider: which.provider, method: method, url: url, nonce: nonce,
      scope: scope, audience: audience)
    try await context.show(call) { reply in
      let (token, proof) = (reply.accessToken.secret, reply.proof.secret)
      // RFC 9449 § 4.2 and RFC 6749 § A.12: visible ASCII only.
      let text = token.revealed() + proof.revealed()
      guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw CommandFailure("the token or proof has characters that a header cannot have")
      }
      context.console.reveal(Secret("Authorization: DPoP \(token.revealed())"))
      context.console.reveal(Secret("DPoP: \(proof.revealed())"))
    }
  }
}

/// The arguments that select one account: its id, or its provider if the caller has only one
/// account there.
struct AccountChoice: ParsableArguments {
  @Argument(help: "The provider, if you have one account there.")
  var provider: ProviderName?

  @Option(help: ArgumentHelp("The account's id.", valueName: "id"))
  var account: AccountID?

  func validate() throws {
    guard (provider == nil) != (account == nil) else {
      throw ValidationError("Name a provider, or an account with --account.")
    }
  }
}

struct TokenListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List your tokens, without their values.")

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only tokens of this provider.")
  var provider: ProviderName?

  @Option(help: ArgumentHelp("Only tokens of this account.", valueName: "id"))
  var account: AccountID?

  func run(at context: CommandContext) async throws {
    try await context.show(TokenList(account: account, provider: provider)) { reply in
      context.console.table(
        ["ACCOUNT", "PROVIDER", "TOKEN", "STATUS", "EXPIRES", "AUDIENCE", "SCOPE"],
        reply.tokens.map { entry in
          [
            "\(entry.account)", "\(entry.provider)",
            entry.token.field == .idToken ? "id" : "access", entry.token.status.rawValue,
            entry.token.expiresAt.map { "\($0)" } ?? "", entry.token.audience ?? "",
            entry.token.scope,
          ]
        }, none: "no tokens")
    }
  }
}

struct TokenRevokeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "revoke",
    abstract: "Revoke an account's tokens at the provider; the account stays.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var which: AccountChoice

  func run(at context: CommandContext) async throws {
    let method = TokenRevoke(account: which.account, provider: which.provider)
    try await context.show(method) { reply in
      context.console.print("deleted the tokens of \(reply.account)")
      context.console.printRevocation(reply)
    }
  }
}
