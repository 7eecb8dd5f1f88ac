public import UsherCore

/// A question to a person: whether a client may make a call.
///
/// The question contains no secret. Of the parameters of a flow it contains only the provider, the
/// kind, the provider API call that the flow is to make, and the texts that describe that call.
public struct Confirmation: Codable, Sendable, Equatable {
  /// The id of the question, `cnf_…`.
  public var id: ConfirmationID
  /// The caller whose call needs a confirmation.
  public var asker: Confirmation.Asker
  /// The call that needs a confirmation.
  public var about: Confirmation.About
  /// The time of the call.
  public var askedAt: Timestamp
  /// The time from which the question cannot be answered any more.
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

  /// The program whose call a person must confirm, as the kernel identifies its process.
  public struct Asker: Codable, Sendable, Equatable {
    /// The program's client name: the name of the first client rule that matches the program.
    public var client: String
    /// The uid of the process.
    public var uid: UInt32
    /// The name of the user as which the program runs; absent if the uid has none.
    public var user: String?
    /// The program's unit of the system instance of systemd; absent if it is unknown.
    public var unit: String?
    /// The path of the program's executable; absent if it is unknown.
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

  /// The RPC call that a person must confirm.
  public struct About: Codable, Sendable, Equatable {
    /// The method of the call.
    public var method: String
    /// The provider that the call is about; absent if it is about none.
    public var provider: ProviderName?
    /// The kind of the flow that the call starts; absent if it starts none.
    public var kind: String?
    /// The account that the call acts on; absent if it acts on none.
    public var account: AccountID?
    /// The label of the account that the RPC call is about; absent if the account does not exist
    /// any more.
    public var label: String?
    /// The OAuth scope that the RPC call requests for a token; absent if it names none.
    public var scope: String?
    /// The audience that the RPC call requests for a token; absent if it names none.
    public var audience: String?
    /// The target whose token the RPC call requests, such as `git/https://git.example/*`; absent if
    /// it names none.
    public var target: String?
    /// The call of the provider's API that the flow is to make, as `METHOD:/path?query`; absent if
    /// there is none. An answer is valid once, for exactly this call with this body.
    public var operation: String?
    /// The SHA-256 of the operation's body as compact JSON with sorted members, in hexadecimal
    /// digits; absent if there is no body.
    public var bodyDigest: String?
    /// The client's description of the operation; absent if it gave none.
    public var summary: String?
    /// The amount that the client states; absent if it states none. It is not verified.
    public var amount: String?
    /// The payee that the client states; absent if it states none. It is not verified.
    public var payee: String?

    public init(
      method: String, provider: ProviderName? = nil, kind: String? = nil,
      account: AccountID? = nil, label: String? = nil, scope: String? = nil,
      audience: String? = nil, target: String? = nil, operation: String? = nil,
      bodyDigest: String? = nil, summary: String? = nil, amount: String? = nil, payee: String? = nil
    ) {
      self.method = method
      self.provider = provider
      self.kind = kind
      self.account = account
      self.label = label
      self.scope = scope
      self.audience = audience
      self.target = target
      self.operation = operation
      self.bodyDigest = bodyDigest
      self.summary = summary
      self.amount = amount
      self.payee = payee
    }
  }

  /// A person's answer to a confirmation, as long as the daemon remembers it.
  public struct Answer: Codable, Sendable, Equatable, SchemaDocumented {
    /// The id of the answered question.
    public var id: ConfirmationID
    /// The caller that the answer is about.
    public var asker: Confirmation.Asker
    /// The call that the answer is about.
    public var about: Confirmation.About
    /// Whether the client may make the call.
    public var allow: Bool
    /// How long the answer is valid: `once`, `session`, or a number of seconds.
    public var remember: Remember
    /// The time of the answer.
    public var answeredAt: Timestamp
    /// The caller that answered.
    public var answeredBy: Confirmation.Answerer
    /// The end of the answer's validity; null if it is valid until the daemon stops or is locked.
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

  /// The program that sent a person's answer to the question.
  public struct Answerer: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the client's rule; `(user)` for the user's own programs, `(admin)` for the admin
    /// socket.
    public var client: String
    /// The uid of the process that answered.
    public var uid: UInt32

    public init(client: String, uid: UInt32) {
      self.client = client
      self.uid = uid
    }
  }
}

extension Confirmation: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Confirmation",
    "A question to a person: whether a client may make a call. It contains no secret.")
}

extension Confirmation.Asker: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Confirmation.Asker",
    "The caller whose call needs a confirmation, as the kernel identifies its process.")
}

extension Confirmation.About: SchemaDocumented {
  public static let component: SchemaComponent? = .init(
    "Confirmation.About", "The call that needs a confirmation.")
}
