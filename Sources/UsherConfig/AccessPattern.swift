package import UsherAPI

/// The calls that a rule allows: `METHOD [PROVIDER[/KIND] [OPERATION]]`.
///
/// `*` stands for any characters within its part: `flow.start work/*`, `token.get work`,
/// `provider.*`, `flow.start wallet/operation GET:/wallets/*`. A part that is left out matches
/// every call. A part that is given matches only calls that have a value for it, unless the part is
/// `*`. An operation matches only the start of a flow that makes such a call: see
/// ``OperationPattern``.
///
/// An ID token is a right of its own: `token.get work` allows access tokens only, and
/// `token.get work/idToken` the ID token only. The pattern `*` allows both.
package struct AccessPattern: CodedAsText, Hashable, Sendable {
  private let method: Glob
  private let provider: Glob
  private let kind: Glob
  private let operation: OperationPattern?
}

extension AccessPattern {
  package init(setting text: String) throws(SettingError) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    let target = words.dropFirst().first?.split(separator: "/", omittingEmptySubsequences: false)
    let parts = [words[0]] + (target ?? [])
    guard words.count <= 3, parts.count <= 3, parts.allSatisfy({ Glob.isOne(String($0)) }) else {
      throw SettingError(
        "must be \"METHOD\", \"METHOD PROVIDER\", \"METHOD PROVIDER/KIND\" or "
          + "\"METHOD PROVIDER/KIND METHOD:/path\"")
    }
    operation = try words.count < 3 ? nil : OperationPattern(setting: String(words[2]))
    method = Glob(text: String(parts[0]))
    guard operation == nil || method.matches(FlowStart.name) else {
      throw SettingError("only flow.start can have a third part")
    }
    provider = parts.count > 1 ? Glob(text: String(parts[1])) : .any
    kind = parts.count > 2 ? Glob(text: String(parts[2])) : .any
  }

  /// The pattern `confirm.*`, for rules that answer the questions to confirm other clients' calls.
  static let confirmations = AccessPattern(
    method: Glob(text: "confirm.*"), provider: .any, kind: .any, operation: nil)

  package var settingText: String {
    if let operation {
      return "\(method.text) \(provider.text)/\(kind.text) \(operation.settingText)"
    }
    if kind != .any { return "\(method.text) \(provider.text)/\(kind.text)" }
    return provider == .any ? method.text : "\(method.text) \(provider.text)"
  }

  /// The provider's name if the pattern matches exactly one provider, nil otherwise.
  package var literalProvider: String? { provider.isLiteral ? provider.text : nil }

  /// Returns whether the pattern allows the call: either directly, or because the call manages a
  /// flow (as `flow.submit` does) and the pattern allows the caller to start flows of the same
  /// provider and kind.
  package func allows(_ request: PolicyRequest) -> Bool {
    if method.matches(request.permission),
      request.isUnknown || provider.covers(request.provider) && coversKind(of: request),
      operation.map({ $0.covers(request.operation) }) ?? true
    {
      return true
    }
    guard request.traits.followsFlowStart, method.matches(FlowStart.name) else { return false }
    return request.provider.map(provider.matches) ?? true
      && request.kind.map(kind.matches) ?? true
  }

  /// Returns whether the pattern's kind covers the call's. That of an ID token must be named,
  /// unless the pattern allows every method.
  private func coversKind(of request: PolicyRequest) -> Bool {
    if request.isAboutIDToken, kind == .any { return method == .any }
    return kind.covers(request.kind)
  }

  /// Returns whether the pattern may allow a call that is only partly known. A part that the
  /// request does not have counts as a match.
  func mayAllow(partial request: PolicyRequest) -> Bool {
    let isListed =
      method.matches(request.permission)
      && (operation == nil || request.operation == nil
        || operation?.covers(request.operation) == true)
    return (isListed || request.traits.followsFlowStart && method.matches(FlowStart.name))
      && request.provider.map(provider.matches) ?? true
      && request.kind.map(kind.matches) ?? true
  }
}

/// The parts of an RPC call by which the client rules decide whether the call is allowed.
package struct PolicyRequest: Sendable, Hashable {
  package let method: String
  package let traits: MethodTraits
  /// The name of the provider that the call is about, directly or through an account or a flow.
  package var provider: String?
  /// The kind of the flow that the call starts or acts on, such as `authorize`, or of the token
  /// that it requests if that is the ID token; nil for other calls.
  package var kind: String?
  /// The call of the provider's API that the flow is to make, as `METHOD:/path`; nil for other
  /// calls.
  package var operation: String?
  /// The account that the call acts on; nil if it acts on none or the caller may not see it.
  package var account: Account?
  /// Whether the call starts a flow that uses an account's token.
  package var usesAccount = false
  /// Whether the call acts on one account, but it cannot be determined on which, for example
  /// because there are several at the provider. The call is refused later. A rule that is limited
  /// to some accounts does not allow it.
  package var lacksAccount = false
  /// Whether the object that the call names does not exist for this caller, so that its provider
  /// and kind are not known. In this case the method alone decides, and an allowed call is answered
  /// with `not_found`.
  package var isUnknown = false
  /// The account id that the call names, for the audit log, whether or not the caller may see the
  /// account; nil if the call names none.
  package var named: String?
  /// The provider's identifier of the person or service for whom the call gets tokens without a
  /// sign-in; nil for other calls.
  package var subject: String?
  /// The OAuth scopes that the call requests for a token; nil if it names none.
  package var scopes: [String]?
  /// The audiences that the call names: that of an access token, empty if there is none, or those
  /// of a sign-in. Nil for other calls.
  package var audiences: [String]?
  /// The time of the call; nil if no rule is limited to certain hours.
  package var weekMinute: WeekMinute?

  /// The properties by which a client rule can select accounts.
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
    self.method = method
    traits = Methods.traits(of: method)
    self.provider = provider
    self.kind = kind
    self.operation = operation
  }

  /// Creates a request that consists of a method only.
  package init(_ method: (some Method).Type) {
    self.method = method.name
    traits = method.traits
  }

  /// The name of the method that a pattern must allow.
  var permission: String { traits.permittedAs ?? method }

  /// Whether the call requests an ID token.
  var isAboutIDToken: Bool { method == TokenGet.name && kind != nil }
}
