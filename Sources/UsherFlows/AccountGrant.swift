package import JSONRPC
package import UsherCore

/// An account with its tokens, as a provider granted it.
///
/// The same owner, provider and subject updates the account there is.
package struct AccountGrant: Sendable, Equatable {
  package var subject: String
  package var label: String
  /// Laid over those there are where ``tokens`` is nil or ``isPartial``; `null` takes one away.
  package var attributes: [String: JSONValue]
  package var profile: [String: JSONValue]?
  package var keepAlive: Bool
  /// Nil where the provider gave the daemon none: then the account is only known.
  package var tokens: TokenSet?
  /// Whether it tells only a part of what is known of the account: attributes, and a profile that is
  /// nil with its label, stay as they are also where tokens are brought.
  package var isPartial = false
  /// Whether a member of the profile leaves only to a client that was granted it. An account that was
  /// once so stays so. The profile is laid over the one that is there, and nil leaves that as it is;
  /// what no consent opens is not kept.
  package var isByConsent = false
  /// Whether the tokens are for the daemon's own calls: no client ever gets one.
  package var tokensAreInternal = false
  /// What must still hold when it is written; else the flow has failed.
  package var reliance: Reliance?
  /// What the flow's client has been granted by the account's person.
  package var consents: [ConsentGrant] = []
  /// The secret of the account's authenticator, in Base32 as the provider gave it; nil leaves the one
  /// that is there.
  package var totpSecret: Sealed<Secret>?
  /// Whether the secret that is there is good for nothing any more.
  package var dropsTOTPSecret = false

  /// What a flow has built on, and others can take away while it is under way.
  package struct Reliance: Sendable, Equatable {
    /// It has not been forgotten.
    package var account: AccountID
    /// These grants are remembered for the flow's client.
    package var consents: Set<String>

    package init(account: AccountID, consents: Set<String>) {
      self.account = account
      self.consents = consents
    }
  }

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

/// An account or a secret that outlives its flow when the flow is cancelled or expires.
package struct AbandonedGrant: Sendable, Equatable {
  package enum Kept: Sendable, Equatable {
    case account(AccountGrant)
    /// Tokens of which it is not known whose they are.
    case handoffSecret(HandoffSecret)
  }

  package var kept: Kept
  /// Tells people of it; the end of a sentence.
  package var message: String

  package init(_ grant: AccountGrant, _ message: String) {
    kept = .account(grant)
    self.message = message
  }

  package init(_ handoffSecret: HandoffSecret, _ message: String) {
    kept = .handoffSecret(handoffSecret)
    self.message = message
  }

  package var grant: AccountGrant? { if case .account(let grant) = kept { grant } else { nil } }

  package var handoffSecret: HandoffSecret? {
    if case .handoffSecret(let handoffSecret) = kept { handoffSecret } else { nil }
  }
}

/// When the calls of a flow that can do without an account carry the token of one.
package enum AccountUse: Sendable {
  /// Never, unless the flow needs an account (``FlowMachine/needsAccount``).
  case none
  /// Where its params name an account, or it takes one (``FlowMachine/takes(_:_:for:)``).
  case named
  /// Only after the account's person has proved to be there and has consented, in the flow itself.
  case proved
}
