public import FoundationEssentials
import UsherClient

extension Wallet {
  /// The parameters of a sign-in (SDK documentation, "Get Authentication Details").
  public struct AuthenticationDetailsRequest: Sendable, Equatable {
    private let clientIdentifier: Secret
    /// The S256 code challenge: the SHA-256 of the code verifier as base64url without padding, 43
    /// characters (RFC 7636 §4.2).
    public var codeChallenge: String
    /// The partner's page for customers who forgot their PIN or password.
    public var resetCredentialsURL: String?
    /// The `state` of the authorization request: 8 to 512 printable ASCII characters, unguessable
    /// and new for each sign-in.
    public var state: String
    /// The redirect URI: an `https` or `http` URL. If it is nil, the daemon listens on the loopback
    /// interface and ``AuthenticationService/authenticationCode(requestID:)`` returns the code.
    public var redirectURI: String?
    /// The language of the sign-in page: a language tag (BCP 47) such as `en-GB`.
    public var locale: String?
    /// The e-mail address that the sign-in page fills in.
    public var loginHint: String?
    public var loginStrategy: LoginStrategy?

    /// Creates a request. `clientIdentifier` is only compared with the daemon's configuration; if
    /// it differs, the call throws ``WalletError/dataError(_:)``.
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

  /// The credential that the customer enters on the wallet's page.
  public enum LoginStrategy: String, Sendable, Equatable, CaseIterable {
    case pin, password
  }

  /// The page with which a sign-in begins.
  public struct AuthenticationDetails: Sendable, Equatable {
    /// The authorization request (RFC 6749 §4.1.1). Open it in the customer's browser, never in a
    /// web view of the program (RFC 8252 §8.12).
    public let authenticationURL: URL
    /// The id of this sign-in, by which the program distinguishes concurrent sign-ins.
    public let requestID: String
  }

  /// An authorization code, which the partner's backend exchanges for an access token with its code
  /// verifier.
  ///
  /// The value prints with `<secret>` in place of the code.
  public struct AuthenticationCode: Sendable, Equatable {
    private let secret: Secret
    public let redirectURI: String?
    /// The id of this sign-in, by which the program distinguishes concurrent sign-ins.
    public let requestID: String
    /// The time by which the access token must be submitted; otherwise the sign-in fails.
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
