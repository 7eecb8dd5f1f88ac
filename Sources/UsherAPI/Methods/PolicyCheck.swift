public import UsherCore

/// What a caller would be told, and why: which rule decides, and of each before it why it did not.
///
/// The rules are asked as for a call on the app socket; nothing is called. A caller of whom nothing is
/// said is nobody in particular: no rule's user, not in any group, neither root nor the daemon's user.
public struct PolicyCheck: Method, Equatable {
  public static let name = "policy.check"
  public static let traits = MethodTraits(access: .admin, repetition: .always)
  public static let summary = "What a caller would be told, and why."

  // Who calls. Each that is missing is as ``client`` has it, else unknown.

  /// A caller as this rule wants it.
  public var client: String?
  /// By name or number. One the machine does not know by that name gives `invalid_params`.
  public var user: String?
  /// Likewise; the first is the primary one. Default: those of the user.
  public var groups: [String]?
  /// A unit of the system instance by its full name, such as `till.service`.
  public var unit: String?
  /// The absolute path of a program.
  public var executable: String?

  // What is called.

  public var method: String
  public var provider: ProviderName?
  /// A flow's kind.
  public var kind: String?
  /// `METHOD:/path`, where the call makes a flow make one of the provider's API.
  public var operation: String?
  /// An account that the caller has. A rule may be about it by this or by ``subject``.
  public var account: AccountID?
  public var subject: String?
  /// What a token is to be good for; scopes with spaces between.
  public var scope: String?
  /// When, such as `Mon 08:30`, in the machine's time; default: now.
  public var at: String?

  public init(
    client: String? = nil, user: String? = nil, groups: [String]? = nil, unit: String? = nil,
    executable: String? = nil, method: String, provider: ProviderName? = nil, kind: String? = nil,
    operation: String? = nil, account: AccountID? = nil, subject: String? = nil,
    scope: String? = nil, at: String? = nil
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
    self.at = at
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var allowed: Bool
    /// Which rule says so; in parentheses where it is none of the configuration's.
    public var rule: String
    /// The same in a sentence.
    public var why: String
    /// The reason of the error that the caller gets; absent where it is allowed.
    public var reason: String?
    /// When the rule's hours begin again, where that is all that is missing.
    public var retryAfterMs: Int?
    /// What is asked of the call yet, and what it is cut down to; absent where it is denied.
    public var conditions: PolicyCheck.Conditions?
    /// Who the caller is to the audit: the first rule that matches it; `(user)` where none does.
    public var client: String
    /// Whose the accounts and flows are that it brings.
    public var owner: Ownership
    /// The clients whose accounts it may read.
    public var lenders: [String]
    /// The clients whose questions for a confirmation it answers.
    public var confirms: [String]
    /// The rules that match the caller, in order, up to the one that decides; none for what is
    /// everybody's.
    public var considered: [PolicyCheck.Verdict]
    /// The rule for which a caller like this has no right when the kernel does not tell its unit or
    /// program, as when its process has ended; absent where there is none.
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

  public enum Ownership: String, Codable, Sendable, Equatable, CaseIterable {
    /// The user's who calls.
    case user
    /// The client's, whichever user it runs as.
    case client
  }

  public struct Conditions: Codable, Sendable, Equatable {
    /// Within how many seconds before the call the person must have proved to be there.
    public var localAuthSeconds: Int?
    /// Whether somebody has to agree.
    public var confirmation: Bool
    /// The most that a token may be good for; absent: anything.
    public var scopes: [String]?
    /// The members of a profile that are shown; absent: all.
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

  /// What one rule says.
  public struct Verdict: Codable, Sendable, Equatable {
    public var rule: String
    /// Where it begins; absent for one of no file.
    public var file: String?
    /// From 1.
    public var line: Int?
    public var allows: Bool
    /// Why, in words that follow the rule's name: `does not list the call`.
    public var why: String

    public init(rule: String, file: String? = nil, line: Int? = nil, allows: Bool, why: String) {
      self.rule = rule
      self.file = file
      self.line = line
      self.allows = allows
      self.why = why
    }
  }
}
