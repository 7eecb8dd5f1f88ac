package import JSONRPC
package import UsherCore

/// An account and its tokens, as a provider granted them to a flow.
///
/// If the owner already has an account with the same provider and subject, that account is updated.
package struct AccountGrant: Sendable, Equatable {
  package var subject: String
  package var label: String
  /// Merged into the account's present attributes if ``tokens`` is nil or ``isPartial`` is set;
  /// otherwise replaces them. A `null` removes the attribute.
  package var attributes: [String: JSONValue]
  package var profile: [String: JSONValue]?
  package var keepAlive: Bool
  /// The tokens; nil if the provider issued none. An account without tokens only records the user's
  /// identity.
  package var tokens: TokenSet?
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
  /// The grants that the user gave to the flow's client.
  package var consents: [ConsentGrant] = []
  /// The secret of the account's authenticator, in Base32 as the provider sent it; nil keeps the
  /// present secret.
  package var totpSecret: Sealed<Secret>?
  /// Whether the present authenticator secret is invalid and is deleted.
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

/// An account or a secret that is stored even though its flow is cancelled or expires.
package struct AbandonedGrant: Sendable, Equatable {
  package enum Kept: Sendable, Equatable {
    case account(AccountGrant)
    /// Tokens whose subject is not known yet.
    case handoffSecret(HandoffSecret)
  }

  package var kept: Kept
  /// Names the stored object for the user; the end of a sentence.
  package var message: String

  package var grant: AccountGrant? { if case .account(let grant) = kept { grant } else { nil } }

  package var handoffSecret: HandoffSecret? {
    if case .handoffSecret(let handoffSecret) = kept { handoffSecret } else { nil }
  }
}

/// When the calls of a flow that works without an account carry an account's access token.
package enum AccountUse: Sendable {
  /// Never, unless the flow requires an account (``FlowMachine/needsAccount``).
  case none
  /// If its params name an account, or the flow selects one (``FlowMachine/takes(_:_:for:)``).
  case named
  /// Only after the user has authenticated and consented within the flow.
  case proved
}
