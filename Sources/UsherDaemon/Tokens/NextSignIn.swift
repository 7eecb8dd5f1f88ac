import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

extension Dependencies {
  /// Returns the flow to recommend in an error to a caller that has no account at a provider: the
  /// one that creates an account.
  ///
  /// - Parameter scope: The scope that the account's tokens must cover.
  func signIn(at provider: ProviderName, for scope: String = "") -> UsherError.NextFlow? {
    guard let variety = configStore.current.provider(provider)?.settings.variety,
      let flow = ProviderRegistry.signIn(of: variety, isKnown: false)
    else { return nil }
    let grants = ProviderRegistry.definition(of: variety).grants(in: scope)
    return .init(provider: provider, kind: flow.kind, grants: grants)
  }
}

extension ProviderDefinition {
  /// Returns the grants that the words of a scope name, each once.
  fileprivate static func grants(in scope: String) -> [String] {
    scope.split(separator: " ").reduce(into: []) { grants, word in
      guard let grant = grant(String(word)), !grants.contains(grant) else { return }
      grants.append(grant)
    }
  }
}

extension AccountRecord {
  /// Returns the flow to recommend in an error about this account's tokens: the one that signs its
  /// user in again.
  ///
  /// The flow repeats what the last sign-in requested, so that the account loses nothing by it: the
  /// kind of flow, the classes of authentication, and `keepAlive`.
  ///
  /// - Parameters:
  ///   - scope: The scope that the failed call needs. The flow requests it together with the scope
  ///     of the grant.
  ///   - challenge: The authentication that a service demands; nil if none does.
  ///   - audience: The audience that the failed call needs, in addition to those of the last
  ///     sign-in; nil if it needs none.
  func signInAgain(
    for scope: String, answering challenge: BearerChallenge? = nil, audience: String? = nil,
    _ dependencies: Dependencies
  ) -> UsherError.NextFlow? {
    guard let settings = dependencies.configStore.current.provider(provider)?.settings,
      let usual = ProviderRegistry.signIn(of: settings.variety, isKnown: true)
    else { return nil }
    let definition = ProviderRegistry.definition(of: settings.variety)
    var next = UsherError.NextFlow(
      provider: provider, kind: usual.kind, account: usual.namesAccount ? id : nil,
      grants: definition.grants(in: scope))
    guard definition.hasScopes else { return next }
    // The same name can stand for a provider of another type by now, which lacks the kind.
    if let challenge {
      // A device code carries no demands on the authentication.
      let acrValues = challenge.acrValues ?? details.signInOptions?.acrValues
      next.arguments["acrValues"] = acrValues.map { .text($0) }
      next.arguments["maxAgeSeconds"] = challenge.effectiveMaxAge.map {
        .number(min($0, 31_536_000))
      }
    } else if let request = details.signInOptions,
      ProviderRegistry.flow(request.kind, of: settings.variety) != nil
    {
      next.kind = request.kind
      next.arguments["loginHint"] = request.loginHint.map { .text($0) }
      next.arguments["acrValues"] = request.acrValues.map { .text($0) }
    }
    next.arguments["scope"] = scopeToRequest(scope, settings).map { .text($0) }
    next.arguments["audiences"] = audiencesToRequest(audience, settings).map { .texts($0) }
    next.arguments["identity"] = details.grant.identity.map { .text($0.rawValue) }
    if details.grant.isByAssertion == true { next.arguments["subject"] = .text(subject) }
    if details.keepAlive { next.arguments["keepAlive"] = .flag(true) }
    // Not every kind of flow has all parameters.
    let names = ProviderRegistry.parameterNames(of: next.kind, at: settings.variety)
    next.arguments = next.arguments.filter { names.contains($0.key) }
    if !names.contains("account") { next.account = nil }
    return next
  }

  /// Returns the audiences that a sign-in must name so that the account has the given one and no
  /// fewer than before; nil if the configuration names them anyway.
  private func audiencesToRequest(
    _ audience: String?, _ settings: any ProviderTypeSettings
  ) -> [String]? {
    guard let settings = settings.view(as: OIDCSettings.self), settings.audienceParameter != nil
    else { return nil }
    var audiences = details.signInOptions?.audiences ?? []
    if let audience, !audiences.contains(where: { $0.hasSameBytes(as: audience) }) {
      audiences.append(audience)
    }
    let isConfigured = Set(audiences) == Set(settings.audiences)
    return audiences.isEmpty || isConfigured ? nil : audiences.suffix(OIDCSettings.maxAudiences)
  }

  /// Returns the scope that a sign-in must request so that the account has the given scope and no
  /// less than before; nil if that is what the configuration requests anyway.
  ///
  /// `offline_access` is requested if the configuration does, because some providers leave it out
  /// of the granted scope (OIDC Core §11).
  private func scopeToRequest(
    _ scope: String, _ settings: any ProviderTypeSettings
  ) -> String? {
    let isOfClient = details.grant.isOfClient == true
    let configured = isOfClient ? [] : settings.view(as: OIDCSettings.self)?.scopes ?? []
    var words: [String] = []
    let offline = configured.filter { $0 == "offline_access" }
    for word in (details.grant.scope + " " + scope).split(separator: " ").map(String.init) + offline
    where !words.contains(where: { $0.hasSameBytes(as: word) }) { words.append(word) }
    return Set(words) == Set(configured) ? nil : words.joined(separator: " ")
  }
}
