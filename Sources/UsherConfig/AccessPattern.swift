package import UsherAPI

/// `METHOD [PROVIDER[/KIND] [OPERATION]]`: which calls are allowed.
///
/// `*` stands for any characters within its part: `flow.start work/*`, `token.get work`,
/// `provider.*`, `flow.start wallet/operation GET:/wallets/*`. A part that is left out holds for all;
/// one that is given holds only for calls that have it, unless it is `*`. An operation holds only for
/// the start of a flow that makes such a call: see ``OperationPattern``.
package struct AccessPattern: CodedAsText, Hashable, Sendable {
  private let method: Glob
  private let provider: Glob
  private let kind: Glob
  private let operation: OperationPattern?

  package init(setting text: String) throws(Refusal) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let target = words.dropFirst().first?.split(separator: "/", omittingEmptySubsequences: false)
    let parts = [words[0]] + (target ?? [])
    guard words.count <= 3, parts.count <= 3, parts.allSatisfy({ Glob.isOne(String($0)) }) else {
      throw Refusal(
        "must be \"METHOD\", \"METHOD PROVIDER\", \"METHOD PROVIDER/KIND\" or "
          + "\"METHOD PROVIDER/KIND METHOD:/path\"")
    }
    operation = try words.count < 3 ? nil : OperationPattern(setting: String(words[2]))
    method = Glob(text: String(parts[0]))
    guard operation == nil || method.matches("flow.start") else {
      throw Refusal("only flow.start can have a third word")
    }
    provider = parts.count > 1 ? Glob(text: String(parts[1])) : .any
    kind = parts.count > 2 ? Glob(text: String(parts[2])) : .any
  }

  /// `confirm.*`
  static let confirmations = AccessPattern(
    method: Glob(text: "confirm.*"), provider: .any, kind: .any, operation: nil)

  private init(method: Glob, provider: Glob, kind: Glob, operation: OperationPattern?) {
    self.method = method
    self.provider = provider
    self.kind = kind
    self.operation = operation
  }

  package var settingText: String {
    if let operation {
      return "\(method.text) \(provider.text)/\(kind.text) \(operation.settingText)"
    }
    if kind != .any { return "\(method.text) \(provider.text)/\(kind.text)" }
    return provider == .any ? method.text : "\(method.text) \(provider.text)"
  }

  /// The provider, where the pattern means exactly one.
  package var literalProvider: String? { provider.isLiteral ? provider.text : nil }

  /// Whether the call is allowed, directly or because it follows from being allowed to start the
  /// flow it is about.
  package func allows(_ request: PolicyRequest) -> Bool {
    if method.matches(request.method),
      request.isUnknown || provider.holds(request.provider) && kind.holds(request.kind),
      operation.map({ $0.holds(request.operation) }) ?? true
    {
      return true
    }
    guard request.traits.followsFlowStart, method.matches("flow.start") else { return false }
    return request.provider.map(provider.matches) ?? true
      && request.kind.map(kind.matches) ?? true
  }
}

extension AccessPattern {
  /// Whether it may allow a call of which only a part is known: what the request does not have counts
  /// as matching.
  func mayAllow(partial request: PolicyRequest) -> Bool {
    let isListed =
      method.matches(request.method)
      && (operation == nil || request.operation == nil
        || operation?.holds(request.operation) == true)
    return (isListed || request.traits.followsFlowStart && method.matches("flow.start"))
      && request.provider.map(provider.matches) ?? true
      && request.kind.map(kind.matches) ?? true
  }
}

/// What a caller asks, as far as the policy cares.
package struct PolicyRequest: Sendable, Hashable {
  package let method: String
  package let traits: MethodTraits
  /// The provider's name where the call is about one, also by way of an account or flow.
  package var provider: String?
  /// The flow's kind where the call is about one.
  package var kind: String?
  /// `METHOD:/path` where the call makes a flow make one of the provider's API.
  package var operation: String?
  /// The account where the call is about one that the caller has.
  package var account: Account?
  /// Whether the call starts a flow that acts with the token of an account.
  package var usesAccount = false
  /// Whether the call acts on one account and it is not known which: such a call is refused later, and
  /// a rule that is about some accounts does not allow it.
  package var lacksAccount = false
  /// Whether what it names is not there for this caller, so that its provider and kind cannot be told:
  /// then the method alone decides, and the answer is that it is not found.
  package var isUnknown = false
  /// The account it names, whether it is there for this caller or not: for the audit.
  package var named: String?
  /// What a token is to be good for, where one is asked for.
  package var scopes: [String]?
  /// When; nil: no rule's hours matter.
  package var moment: WeekMinute?

  /// What rules may say of an account.
  package struct Account: Sendable, Hashable {
    package var id: String
    package var subject: String

    package init(id: String, subject: String) {
      self.id = id
      self.subject = subject
    }
  }

  package init(
    method: String, provider: String? = nil, kind: String? = nil, operation: String? = nil
  ) {
    self.init(method, Methods.traits(of: method), provider, kind, operation)
  }

  /// Creates a request about a method alone.
  package init(_ method: (some Method).Type) {
    self.init(method.name, method.traits, nil, nil, nil)
  }

  private init(
    _ method: String, _ traits: MethodTraits, _ provider: String?, _ kind: String?,
    _ operation: String?
  ) {
    self.method = method
    self.traits = traits
    self.provider = provider
    self.kind = kind
    self.operation = operation
  }
}
