import UsherAPI
import UsherConfig
import UsherCore

// Which target of the configuration answers a tool, and with which account.
extension Services {
  /// Returns the target that answers what a tool asks for; nil if none does.
  func target(for asked: (kind: String, name: String)) -> TargetConfig? {
    guard let name = try? TargetName(kind: asked.kind, name: asked.name) else { return nil }
    return dependencies.config.target(for: name)
  }

  /// Finds the target that answers a call. If there is none, `target` gets the error.
  func resolve(_ asked: (kind: String, name: String), in target: inout CallTarget) {
    do throws(UsherError) {
      let name = try TargetName(kind: asked.kind, name: asked.name)
      target.request.target = name
      guard let answering = dependencies.config.target(for: name) else {
        throw .noTarget(for: name)
      }
      target.answering = answering
      target.request.answeringTarget = answering.text
    } catch {
      target.accountError = error
      target.request.isUnknown = true
    }
  }

  /// Finds the account and the token that the answering target names, for the policy.
  func resolveToken(_ caller: Caller, in target: inout CallTarget) {
    guard let answering = target.answering else { return }
    target.request.describe(answering)
    let request = target.request
    resolve((answering.account, answering.provider), in: &target) {
      id, provider throws(UsherError) in
      try repository.account(id, provider, for: caller, request)
    }
    target.accountError = target.accountError.map { $0.about(answering) }
    target.requestScopes(answering.tokenScope)
  }

  /// Implements `target.list`.
  func targets(for caller: Caller) -> TargetList.Reply {
    let targets = dependencies.config.targets.filter { caller.isAdmin || caller.policy.mayUse($0) }
    return .init(targets: targets.map { TargetList.Entry($0) })
  }

  /// Implements `target.resolve`: decides about the call of `token.forTarget` without making it.
  func resolve(
    _ call: TargetResolve, _ authorized: AuthorizedCall
  ) throws(UsherError) -> TargetResolve.Reply {
    guard let answering = authorized.answering else {
      throw UsherError(.internalError, "an allowed call has no target")
    }
    let caller = authorized.caller
    let target = try resolve(TokenForTarget(kind: call.kind, name: call.name), caller)
    var reply = TargetResolve.Reply(
      target: .init(answering), provider: target.account?.provider ?? answering.provider,
      account: target.account?.id, allowed: false)
    do throws(UsherError) {
      let permit = try permit(for: target, caller)
      if let record = target.account {
        _ = try tokens.key(for: TokenGet(answering), record)
      }
      reply.allowed = true
      reply.conditions = .init(
        localAuthSeconds: permit.localAuthSeconds, confirmation: permit.needsConfirmation,
        scopes: permit.scopes)
    } catch {
      let error = error.about(answering)
      reply.reason = error.reason.rawValue
      reply.message = error.message
      reply.next = ErrorData(error, correlationId: CorrelationID("")).next
    }
    return reply
  }

  private func permit(
    for target: CallTarget, _ caller: Caller
  ) throws(UsherError) -> Permit {
    switch caller.decide(target.request) {
    case .allowed(let permit):
      if let error = target.accountError { throw error }
      return permit
    case .denied(let denial): throw denial.error(target.request, target.accountError)
    }
  }
}

extension TargetList.Entry {
  init(_ target: TargetConfig) {
    self.init(
      kind: target.kind.text, match: target.match.settingText, provider: target.provider,
      field: target.tokenField, scope: target.scope, audience: target.audience,
      username: target.username)
  }
}

extension TargetConfig {
  fileprivate var tokenField: TokenGet.Field {
    switch field {
    case .accessToken: .accessToken
    case .idToken: .idToken
    }
  }
}

extension TokenGet {
  /// Creates the call for the token that a target names.
  init(_ target: TargetConfig) {
    self.init(
      account: target.account, provider: target.provider, field: target.tokenField,
      scope: target.scope, audience: target.audience)
  }
}

// MARK: - Errors

extension UsherError {
  fileprivate static func noTarget(for name: TargetName) -> UsherError {
    UsherError(
      .noTarget,
      "no target answers \(name.text); missing in the configuration: [[target]] with "
        + "kind = \"\(name.kind.text)\", match = \(TomlValue.quoted(name.suggestedMatch)) "
        + "and a provider; the lines to copy: usherctl target test \(name.commandLine)")
  }

  /// Returns the error for a caller whose rules do not allow a call about a target. The error does
  /// not tell whether the configuration has such a target.
  static func targetNotAllowed(_ request: PolicyRequest) -> UsherError {
    guard let name = request.target else {
      return UsherError(.permissionDenied, "you may not call \(request.method)")
    }
    let pattern = "\(TokenForTarget.name) \(name.kind.text)/\(name.suggestedMatch)"
    return UsherError(
      .permissionDenied,
      "you may not use a target for \(name.text); missing in your [[client]] rule: "
        + "allow = [\(TomlValue.quoted(pattern))]")
  }

  /// Returns the error of a call for the account of a target. An invalid parameter of such a call
  /// is a setting of the target, and its account is named by the configuration.
  func about(_ target: TargetConfig) -> UsherError {
    var error = self
    switch reason {
    case .invalidParams where !Self.ownFields.contains(detail.field ?? ""):
      error.message = "target \(target.text): \(message)"
      error.detail.field = "name"
    case .notFound where target.account != nil:
      error.message =
        "target \(target.text): its account does not exist or is not yours; name a provider in "
        + "place of the account"
    default: break
    }
    return error
  }

  /// The parameters of `token.forTarget` itself.
  private static let ownFields = ["kind", "name", "minValidSeconds", "challenge"]
}

extension TargetName {
  /// The kind and the name as arguments of a shell command.
  fileprivate var commandLine: String {
    let name = text.dropFirst(kind.text.utf8.count + 1)
    let isPlain = name.utf8.allSatisfy { byte in
      Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
        || "/:.-_@+=,%".utf8.contains(byte)
    }
    return "\(kind.text) " + (isPlain ? String(name) : "'\(name.replacing("'", with: "'\\''"))'")
  }
}
