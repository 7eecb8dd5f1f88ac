package import UsherAPI
import UsherCore

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
///
/// A pattern for a method about targets names the target in place of a provider:
/// `token.forTarget git`, `token.forTarget git/https://git.example/*`. No pattern with a provider
/// allows such a call, and `token.forTarget` and `token.*` allow only targets whose token is an
/// access token.
package struct AccessPattern: CodedAsText, Hashable, Sendable {
  private let method: Glob
  private let provider: Glob
  private let kind: Glob
  private let operation: OperationPattern?
  /// The targets that the pattern names; nil if it names none.
  private let target: TargetPattern?
}

extension AccessPattern {
  package init(setting text: String) throws(SettingError) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    if words.count > 1, Methods.traits(of: String(words[0])).namesTarget {
      try self.init(method: words[0], target: words.dropFirst())
    } else {
      try self.init(words: words)
    }
  }

  private init(words: [Substring]) throws(SettingError) {
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
    self.target = nil
  }

  private init(method: Substring, target words: ArraySlice<Substring>) throws(SettingError) {
    let form = "must be \"\(method)\", \"\(method) KIND\" or \"\(method) KIND/MATCH\""
    guard words.count == 1, let word = words.first else { throw SettingError(form) }
    if let other = Methods.traits(of: String(method)).permittedAs {
      throw SettingError("must name \(other), which allows \(method) too")
    }
    do throws(SettingError) {
      target = try TargetPattern(setting: String(word))
    } catch {
      throw SettingError("\(form); the target \(error.message)")
    }
    self.method = Glob(text: String(method))
    provider = .any
    kind = .any
    operation = nil
  }

  /// The pattern `confirm.*`, for rules that answer the questions to confirm other clients' calls.
  static let confirmations = AccessPattern(
    method: Glob(text: "confirm.*"), provider: .any, kind: .any, operation: nil, target: nil)

  package var settingText: String {
    if let target { return "\(method.text) \(target.settingText)" }
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
    if request.traits.namesTarget {
      return method.matches(request.permission) && coversTarget(of: request)
    }
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

  /// Returns whether the pattern covers the target that the call names.
  private func coversTarget(of request: PolicyRequest) -> Bool {
    guard let target else {
      return provider == .any && kind == .any && operation == nil
        && (!request.isAboutIDToken || method == .any)
    }
    guard let name = request.target else { return request.listsTargets }
    return target.matches(name)
  }

  /// Returns whether the pattern may allow a call for a name that the target answers.
  func mayAllow(_ request: PolicyRequest, about configured: TargetConfig) -> Bool {
    guard method.matches(request.permission) else { return false }
    return target?.overlaps(configured) ?? coversTarget(of: request)
  }

  /// Returns whether the pattern may allow a call that is only partly known. A part that the
  /// request does not have counts as a match.
  func mayAllow(partial request: PolicyRequest) -> Bool {
    if request.traits.namesTarget {
      let isOpen = target != nil && request.target == nil
      return method.matches(request.permission) && (isOpen || coversTarget(of: request))
    }
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
  /// What a tool asks for, if the call names it in a valid form; nil for other calls.
  package var target: TargetName?
  /// The target of the configuration that answers, such as `git/https://git.example/*`; nil if
  /// none does.
  package var answeringTarget: String?
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
  var isAboutIDToken: Bool { (method == TokenGet.name || traits.namesTarget) && kind != nil }

  /// Whether the call names no target because it lists those that the caller may use.
  fileprivate var listsTargets: Bool { method == TargetList.name }

  /// Adds the properties of the token that a target names.
  package mutating func describe(_ target: TargetConfig) {
    answeringTarget = target.text
    provider = target.provider?.rawValue
    kind = target.tokenKind
    if kind == nil { audiences = [target.audience ?? ""] }
    scopes = target.tokenScope.map { $0.split(separator: " ").map(String.init) }
  }
}
