public import UsherCore

/// A question to a person: whether a client may make a call (Access, "A person agrees"). It never has
/// a secret in it, and of what a flow is started with nothing but its provider and kind, and which
/// call of the provider's API it is to make, with what is shown of that call.
public struct Confirmation: Codable, Sendable, Equatable {
  public var id: ConfirmationID
  public var asker: Confirmation.Asker
  public var about: Confirmation.About
  public var askedAt: Timestamp
  /// From then on it cannot be answered any more.
  public var expiresAt: Timestamp

  public init(
    id: ConfirmationID, asker: Confirmation.Asker, about: Confirmation.About, askedAt: Timestamp,
    expiresAt: Timestamp
  ) {
    self.id = id
    self.asker = asker
    self.about = about
    self.askedAt = askedAt
    self.expiresAt = expiresAt
  }

  /// Who made the call, as the kernel says.
  public struct Asker: Codable, Sendable, Equatable {
    /// The rule's name.
    public var client: String
    public var uid: UInt32
    /// Absent where the number has no name.
    public var user: String?
    /// The unit of the system instance; absent where it is not known.
    public var unit: String?
    /// The program's path; absent where it is not known.
    public var executable: String?

    public init(
      client: String, uid: UInt32, user: String? = nil, unit: String? = nil,
      executable: String? = nil
    ) {
      self.client = client
      self.uid = uid
      self.user = user
      self.unit = unit
      self.executable = executable
    }
  }

  /// Which call it is.
  public struct About: Codable, Sendable, Equatable {
    public var method: String
    public var provider: ProviderName?
    /// Of the flow that is to begin.
    public var kind: String?
    public var account: AccountID?
    /// What people call the account; absent where it is gone.
    public var label: String?
    /// What a token is to be good for.
    public var scope: String?
    /// `METHOD:/path?query`: the call of the provider's API that the flow is to make. An answer about it
    /// holds once, for exactly this call with this body.
    public var operation: String?
    /// SHA-256 of the operation's body as compact JSON with sorted members, in hexadecimal digits;
    /// absent without a body.
    public var bodyDigest: String?
    /// What the client says that the operation is for.
    public var summary: String?
    /// The amount that the client says it is about.
    public var amount: String?
    /// The payee that the client named. It is not verified.
    public var payee: String?

    public init(
      method: String, provider: ProviderName? = nil, kind: String? = nil,
      account: AccountID? = nil, label: String? = nil, scope: String? = nil,
      operation: String? = nil, bodyDigest: String? = nil, summary: String? = nil,
      amount: String? = nil, payee: String? = nil
    ) {
      self.method = method
      self.provider = provider
      self.kind = kind
      self.account = account
      self.label = label
      self.scope = scope
      self.operation = operation
      self.bodyDigest = bodyDigest
      self.summary = summary
      self.amount = amount
      self.payee = payee
    }
  }

  /// What a person said, as long as it is remembered.
  public struct Answer: Codable, Sendable, Equatable {
    /// That of the question it answers.
    public var id: ConfirmationID
    public var asker: Confirmation.Asker
    public var about: Confirmation.About
    public var allow: Bool
    public var remember: Remember
    public var answeredAt: Timestamp
    public var answeredBy: Confirmation.Answerer
    /// Null where it is remembered for the session.
    @Nullable public var expiresAt: Timestamp?

    public init(
      id: ConfirmationID, asker: Confirmation.Asker, about: Confirmation.About, allow: Bool,
      remember: Remember, answeredAt: Timestamp, answeredBy: Confirmation.Answerer,
      expiresAt: Timestamp?
    ) {
      self.id = id
      self.asker = asker
      self.about = about
      self.allow = allow
      self.remember = remember
      self.answeredAt = answeredAt
      self.answeredBy = answeredBy
      self.expiresAt = expiresAt
    }
  }

  /// Whose connection the answer came by.
  public struct Answerer: Codable, Sendable, Equatable {
    /// The rule's name; `(user)` for the user's own programs, `(admin)` for the admin socket.
    public var client: String
    public var uid: UInt32

    public init(client: String, uid: UInt32) {
      self.client = client
      self.uid = uid
    }
  }
}
