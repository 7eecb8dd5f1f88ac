package import JSONRPC
package import UsherCore

/// An account and its tokens, as a provider granted them to a flow.
///
/// If the owner already has an account with the same provider and subject, that account is updated.
package struct AccountGrant: Sendable, Equatable {
  package var subject: String
  package var label: String
  /// The attributes of the account. They are merged into its present attributes if ``tokens`` is
  /// nil or ``isPartial`` is set; otherwise they replace them. A `null` removes an attribute.
  package var attributes: [String: JSONValue]
  package var profile: [String: JSONValue]?
  package var keepAlive: Bool
  /// The tokens; nil if the provider issued none. An account without tokens only records the user's
  /// identity.
  package var tokens: TokenSet?
  /// The verified ID token that clients may receive; nil if there is none.
  package var idToken: IDToken?
  /// The claims of the sign-in's ID token; nil if there is none.
  package var signIn: SignInClaims?
  /// What the sign-in requested, so that it can be repeated; nil for a provider whose first flow
  /// needs nothing to repeat it.
  package var signInOptions: SignInOptions?
  /// The key to which the provider has bound the tokens (RFC 9449); nil if they are bound to none.
  package var dpopKey: Sealed<Secret>?
  /// The name that the provider has given to the grant (Grant Management for OAuth 2.0); nil if it
  /// has given none.
  package var grantID: Sealed<Secret>?
  /// Whether the tokens were granted to the client without a user (RFC 6749 §4.4, RFC 7523 §2.1),
  /// so that the daemon renews them without a refresh token.
  package var isOfClient = false
  /// Whether the daemon renews the tokens by an assertion about ``subject`` (RFC 7523 §2.1) instead
  /// of the client's credential; only if ``isOfClient`` is set.
  package var isByAssertion = false
  /// The account of another provider by whose assertions the daemon renews the tokens; nil if there
  /// is none. Only if ``isOfClient`` is set.
  package var identity: AccountID?
  /// Whether this describes only part of the account. If it does, attributes that it does not
  /// mention stay, even if it has tokens; if its profile is nil, the present profile and label
  /// stay.
  package var isPartial = false
  /// Whether a client sees a profile member only if it was granted that member. Once set for an
  /// account, this stays set. The profile is then merged into the present one, and nil leaves that
  /// unchanged. Members that no consent covers are not stored.
  package var isByConsent = false
  /// Whether the tokens are for the daemon's own calls only: no client ever receives one.
  package var tokensAreInternal = false
  /// The consents that the user gave to the client that started the flow: which members of the
  /// profile that client may read.
  package var consents: [ConsentGrant] = []
  /// The shared secret for the account's one-time codes (RFC 6238), in Base32 as the provider sent
  /// it; nil keeps the present secret.
  package var totpSecret: Sealed<Secret>?
  /// Whether the account's present secret for one-time codes is deleted, because the provider no
  /// longer accepts it.
  package var dropsTOTPSecret = false

  package init(
    subject: String, label: String, attributes: [String: JSONValue] = [:],
    profile: [String: JSONValue]? = nil, keepAlive: Bool = false, tokens: TokenSet?
  ) {
    self.subject = subject
    self.label = label
    self.attributes = attributes
    self.profile = profile
    self.keepAlive = keepAlive
    self.tokens = tokens
  }
}

/// What a sign-in requested of the provider that a later sign-in of the same account must request
/// again.
package struct SignInOptions: Codable, Sendable, Equatable {
  /// The kind of the flow.
  package var kind: String
  /// The classes of authentication that the caller requested; nil if it requested none.
  package var acrValues: String?
  /// The audiences that the request named; nil if it named none.
  package var audiences: [String]?
  /// The user, as the caller named the user to the provider; nil for flows in which the user says
  /// that.
  package var loginHint: String?

  package init(
    kind: String, acrValues: String? = nil, audiences: [String]? = nil, loginHint: String? = nil
  ) {
    self.kind = kind
    self.acrValues = acrValues
    self.audiences = audiences
    self.loginHint = loginHint
  }
}

/// What the provider had already granted when the flow was cancelled or expired: an account, or
/// tokens for a later flow. The daemon stores it, so that the user need not sign in again.
package struct AbandonedGrant: Sendable, Equatable {
  package enum Content: Sendable, Equatable {
    case account(AccountGrant)
    /// Tokens of a user whom the provider has not identified yet. A later flow of the same client
    /// can use them.
    case handoffSecret(HandoffSecret)
  }

  package var content: Content
  /// The end of a sentence for users that names the stored account or secret.
  package var message: String

  package var grant: AccountGrant? { if case .account(let grant) = content { grant } else { nil } }

  package var handoffSecret: HandoffSecret? {
    if case .handoffSecret(let handoffSecret) = content { handoffSecret } else { nil }
  }
}

/// When the calls of a flow that works without an account carry an account's access token.
package enum AccountUse: Sendable {
  /// Never, unless the flow requires an account (``FlowMachine/needsAccount``).
  case none
  /// If its params name an account, or the flow selects one
  /// (``FlowMachine/acceptsAccount(_:_:for:)``).
  case named
  /// Only after the user has authenticated and consented within the flow.
  case proved
}
