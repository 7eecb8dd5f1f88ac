import JSONRPC
public import UsherCore

/// Explains the policy's decision about a call: the rule that decides, and why each earlier rule
/// does not.
///
/// The decision is made as for a call on the app socket, but no call is made. If the parameters do
/// not describe the caller, it is a user that no rule names, that is in no group, and that is
/// neither root nor the daemon's own user.
public struct PolicyCheck: Method, Equatable {
  public static let name = "policy.check"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary =
    "Explains the policy's decision about a call, without making the call."
  public static let discussion = """
    The decision is made as for a call on the app socket, but no call is made. If the parameters \
    do not describe the caller, it is a user that no rule names, that is in no group, and that is \
    neither root nor the daemon's own user.
    """

  // The assumed caller. A missing value is taken from the rule that `client` names; otherwise it
  // counts as unknown.

  /// The name of a client rule. The assumed caller is one that this rule matches.
  public var client: String?
  /// The user of the assumed caller, by name or number. A name that is unknown on this machine
  /// gives `invalid_params`.
  public var user: String?
  /// The groups of the assumed caller, by name or number, the primary group first. Default: the
  /// groups of the user.
  public var groups: [String]?
  /// The full name of the caller's unit of the system instance, such as `till.service`.
  public var unit: String?
  /// The absolute path of the caller's program.
  public var executable: String?

  // The assumed call.

  /// The method of the call.
  public var method: String
  /// The provider that the call is about.
  public var provider: ProviderName?
  /// The kind of the flow that the call starts or acts on.
  public var kind: String?
  /// The call of the provider's API that the flow is to make, as `METHOD:/path`.
  public var operation: String?
  /// The account that the call acts on. A rule can be limited to accounts by their id or by their
  /// ``subject``.
  public var account: AccountID?
  /// The provider's identifier of the account that the call acts on.
  public var subject: String?
  /// The scope of the requested token, as words with spaces between them.
  public var scope: String?
  /// The audience of the requested token; default: none.
  public var audience: String?
  /// What a tool asks for, as `KIND/NAME`, for a method about targets.
  public var target: String?
  /// The local time of the call, such as `Mon 08:30`; default: now.
  public var at: String?

  public init(
    client: String? = nil, user: String? = nil, groups: [String]? = nil, unit: String? = nil,
    executable: String? = nil, method: String, provider: ProviderName? = nil, kind: String? = nil,
    operation: String? = nil, account: AccountID? = nil, subject: String? = nil,
    scope: String? = nil, audience: String? = nil, target: String? = nil, at: String? = nil
  ) {
    self.client = client
    self.user = user
    self.groups = groups
    self.unit = unit
    self.executable = executable
    self.method = method
    self.provider = provider
    self.kind = kind
    self.operation = operation
    self.account = account
    self.subject = subject
    self.scope = scope
    self.audience = audience
    self.target = target
    self.at = at
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// Whether the caller may make the call.
    public var allowed: Bool
    /// The client rule that decides. A name in parentheses, such as `(user)`, is built in.
    public var rule: String
    /// The decision and its reason as a sentence.
    public var why: String
    /// The reason of the error that the caller would get; absent if the call is allowed.
    public var reason: String?
    /// The time, in milliseconds, until the rule's hours begin again; absent unless the call is
    /// denied only because of the hours.
    public var retryAfterMs: Int?
    /// The conditions that the call must still meet, and the limits on its reply; absent if the
    /// call is denied.
    public var conditions: PolicyCheck.Conditions?
    /// The client name that the audit log would record: that of the first rule that matches the
    /// caller; `(user)` if none matches.
    public var client: String
    /// The owner of the accounts and flows that the caller creates.
    public var owner: Ownership
    /// The clients that share their accounts with the caller.
    public var lenders: [String]
    /// The clients whose confirmation questions the caller may answer.
    public var confirms: [String]
    /// The rules that match the caller, in order, up to the rule that decides; empty for a method
    /// that is open to every caller.
    public var considered: [PolicyCheck.Verdict]
    /// The rule because of which the assumed caller would have no rights if the kernel does not
    /// report the caller's unit or program, for example because its process has ended; absent if
    /// there is none. Methods that are open to every caller stay permitted.
    public var unidentified: String?

    public init(
      allowed: Bool, rule: String, why: String, reason: String? = nil, retryAfterMs: Int? = nil,
      conditions: PolicyCheck.Conditions? = nil, client: String, owner: Ownership = .user,
      lenders: [String] = [], confirms: [String] = [], considered: [PolicyCheck.Verdict] = [],
      unidentified: String? = nil
    ) {
      self.allowed = allowed
      self.rule = rule
      self.why = why
      self.reason = reason
      self.retryAfterMs = retryAfterMs
      self.conditions = conditions
      self.client = client
      self.owner = owner
      self.lenders = lenders
      self.confirms = confirms
      self.considered = considered
      self.unidentified = unidentified
    }
  }

  /// The owner of the accounts and flows that a caller creates.
  public enum Ownership: String, Codable, Sendable, Equatable, CaseIterable {
    /// The user that the caller runs as.
    case user
    /// The client, whichever user it runs as.
    case client
  }

  public struct Conditions: Codable, Sendable, Equatable, SchemaDocumented {
    /// The maximum age of the required local authentication, in seconds; absent if none is
    /// required.
    public var localAuthSeconds: Int?
    /// Whether a person must confirm the call.
    public var confirmation: Bool
    /// The OAuth scopes that a returned token may have at most; absent: any.
    public var scopes: [String]?
    /// The members of an account's profile that the call returns; absent: all.
    public var fields: [String]?

    public init(
      localAuthSeconds: Int? = nil, confirmation: Bool = false, scopes: [String]? = nil,
      fields: [String]? = nil
    ) {
      self.localAuthSeconds = localAuthSeconds
      self.confirmation = confirmation
      self.scopes = scopes
      self.fields = fields
    }
  }

  /// The decision of one client rule that matches the caller.
  public struct Verdict: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the rule.
    public var rule: String
    /// The file in which the rule begins; absent if the rule is from no file.
    public var file: String?
    /// The line in which the rule begins, counted from 1; absent if the rule is from no file.
    public var line: Int?
    /// Whether the rule allows the call.
    public var allows: Bool
    /// Why the rule decides or does not, as a phrase that follows the rule's name: `does not list
    /// the call`.
    public var why: String

    public init(rule: String, file: String? = nil, line: Int? = nil, allows: Bool, why: String) {
      self.rule = rule
      self.file = file
      self.line = line
      self.allows = allows
      self.why = why
    }
  }

  public static let example = MethodExample(
    ["client": "till", "method": "token.get", "provider": "work"],
    returns: .examplePolicyDecision)
}
