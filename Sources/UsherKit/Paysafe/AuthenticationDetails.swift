public import FoundationEssentials
import JSONRPC
import UsherAPI
import UsherCore

extension Wallet {
  /// How a customer is to sign in (seed, "Get Authentication Details").
  public struct AuthenticationDetailsRequest: Sendable, Equatable {
    private let clientIdentifier: Secret
    /// Base64url of the SHA-256 of the code verifier, without padding: 43 characters (RFC 7636
    /// §4.2).
    public var codeChallenge: String
    /// The partner's page for customers who forgot their PIN or password.
    public var resetCredentialsURL: String?
    /// 8 to 512 printable ASCII characters that nobody can guess, fresh for each sign-in.
    public var state: String
    /// Where the browser comes back to: an `https` address or one on the loopback. Nil: the daemon
    /// listens on the loopback, and
    /// ``AuthenticationService/authenticationCode(requestID:)`` tells of the return.
    public var redirectURI: String?
    /// A language tag (BCP 47): `en-GB`.
    public var locale: String?
    /// The name to fill in: an e-mail address.
    public var loginHint: String?
    public var loginStrategy: LoginStrategy?

    /// The daemon compares `clientIdentifier` with the configured one and does nothing else with
    /// it: another one is a ``WalletError/dataError(_:)``.
    public init(
      clientIdentifier: String, codeChallenge: String, resetCredentialsURL: String? = nil,
      state: String, redirectURI: String? = nil, locale: String? = nil, loginHint: String? = nil,
      loginStrategy: LoginStrategy? = nil
    ) {
      self.clientIdentifier = Secret(clientIdentifier)
      self.codeChallenge = codeChallenge
      self.resetCredentialsURL = resetCredentialsURL
      self.state = state
      self.redirectURI = redirectURI
      self.locale = locale
      self.loginHint = loginHint
      self.loginStrategy = loginStrategy
    }

    func params(_ brandIdentity: String) -> JSONValue {
      .params([
        "brandIdentity": .string(brandIdentity),
        "clientIdentifier": .string(clientIdentifier.revealed()),
        "codeChallenge": .string(codeChallenge), "state": .string(state),
        "redirectURI": .text(redirectURI), "resetCredentialsURL": .text(resetCredentialsURL),
        "locale": .text(locale), "loginHint": .text(loginHint),
        "loginStrategy": .text(loginStrategy?.rawValue),
      ])
    }
  }

  /// What the customer types at the wallet's page.
  public enum LoginStrategy: String, Sendable, Equatable, CaseIterable {
    case pin, password
  }

  /// Where a sign-in begins.
  public struct AuthenticationDetails: Sendable, Equatable {
    /// The authorization endpoint (RFC 6749 §3.1): to be shown in the customer's browser, never in
    /// a view of the program's own (RFC 8252 §8.12).
    public let authenticationURL: URL
    /// Names this sign-in, where there may be several at a time.
    public let requestID: String
  }

  /// What the partner's backend redeems for an access token, together with the code verifier.
  ///
  /// The code prints as `<secret>` with the rest of the value.
  public struct AuthenticationCode: Sendable, Equatable {
    private let secret: Secret
    public let redirectURI: String?
    /// Names this sign-in, where there may be several at a time.
    public let requestID: String
    /// Until when the access token is waited for.
    public let deadline: Date

    /// The authorization code (RFC 6749 §4.1.2).
    public var code: String { secret.revealed() }

    init(_ step: Step.ExchangeCredential) {
      secret = step.credential.code.secret
      redirectURI = step.redirectURI
      requestID = step.requestId
      deadline = step.deadline.date
    }
  }
}
