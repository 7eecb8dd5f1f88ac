import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore

/// Implementation of `token.get`, `token.proof`, `token.revoke` and `account.forget`.
///
/// A valid token is answered from memory on the event loop, with the reply that was encoded when
/// the token arrived.
struct TokenService: Sendable {
  /// The default and the upper bound of the parameter `minValidSeconds`, in seconds.
  static let defaultValidity = 60
  static let maxValidity = 86_400

  let dependencies: Dependencies
  let repository: AccountRepository
  let refresher: Refresher
  let revoker: Revoker

  /// Implements `token.get`.
  ///
  /// - Parameters:
  ///   - scopes: The scopes that the policy permits for the token; nil: any.
  ///   - request: The call for the policy, by which the account must still be visible to the caller
  ///     after a refresh.
  func get(
    _ call: TokenGet, of record: AccountRecord, _ caller: Caller, within scopes: [String]?,
    as request: PolicyRequest = PolicyRequest(TokenGet.self)
  ) throws(UsherError) -> Response {
    let seconds = call.minValidSeconds ?? Self.defaultValidity
    guard (0...Self.maxValidity).contains(seconds) else {
      throw UsherError(
        .invalidParams,
        "minValidSeconds must be from 0 to \(Self.maxValidity)", field: "minValidSeconds")
    }
    // Tokens of a provider that is not configured are kept, and handed out when the provider is
    // configured again.
    guard record.isFrom(try dependencies.configStore.tokenPlace(of: record.provider)) else {
      throw dependencies.elsewhere(record)
    }
    let key = try key(for: call, record)
    // If not every client may have these tokens, the permission is checked before the provider is
    // asked, and again when the token has arrived.
    let isChecked = record.isGuarded || scopes != nil
    if isChecked { try check(record, key, caller, within: scopes) }
    // A challenge is judged after that: the answer tells how the user has authenticated.
    let isAnswer = call.challenge != nil
    var call = call
    if let text = call.challenge { call = try self.call(answering: call, text, of: record) }
    let isForced = call.forceRefresh ?? false
    let now = dependencies.clock.now()
    if !isForced, let token = record.usableToken(key), !token.isUnverified,
      let end = token.validUntil(for: seconds, at: now, dependencies.clock.bootTime())
    {
      // A reply that depends on a consent is not cached, because consents expire, nor is one that
      // depends on the user's authentication.
      if record.isGuarded || isAnswer { return .now(token.reply) }
      return .cacheable(
        CachedReply(reply: token.reply, validity: now...end, repository: repository))
    }
    return .later { [self] () async throws(UsherError) -> [UInt8] in
      let reply = try await fetch(key, of: record.id, validFor: seconds, isForced: isForced)
      if isChecked {
        let current = try repository.account(record.id, for: caller, request)
        try check(current, key, caller, within: scopes)
      }
      return reply
    }
  }

  /// Returns the encoded reply with a token that is not in memory, or has to be refreshed.
  private func fetch(
    _ key: TokenKey, of account: AccountID, validFor seconds: Int, isForced: Bool
  ) async throws(UsherError) -> [UInt8] {
    if key == .idToken {
      return try await refresher.idToken(account, validFor: seconds, isForced: isForced)
    }
    return try await refresher.token(account, key, validFor: seconds, isForced: isForced)
  }

  /// Checks that the caller may receive the token.
  ///
  /// - Throws: `permissionDenied` for tokens that only the daemon uses, `consentRequired` if the
  ///   client does not have the user's consent to everything that the token gives access to.
  private func check(
    _ record: AccountRecord, _ key: TokenKey, _ caller: Caller, within permitted: [String]?
  ) throws(UsherError) {
    guard !record.details.tokensAreInternal else {
      throw UsherError(.permissionDenied, "the tokens of this account are for the daemon only")
    }
    // The token's scope is checked too: the provider may have granted more than requested.
    let scopes =
      key == .idToken ? ["openid"] : [key.scope, record.tokens[key]?.set.scope].compactMap(\.self)
    if let permitted,
      !scopes.flatMap(PolicyRequest.scopes).allSatisfy({ scope in
        permitted.contains { $0.hasSameBytes(as: scope) }
      })
    {
      throw .scopeNotPermitted(permitted)
    }
    guard record.isGuarded else { return }
    let now = dependencies.clock.now()
    guard scopes.allSatisfy({ record.covers(scope: $0, to: caller.client, at: now) }) else {
      throw record.scopeNotCovered("token", scopes.joined(separator: " "), dependencies)
    }
  }

  func revoke(
    of record: AccountRecord, _ caller: Caller
  ) async throws(UsherError) -> RevocationReply {
    try await revoker.drop(current(record), by: .init(caller)).reply(about: record.id)
  }

  func forget(
    _ call: AccountForget, of record: AccountRecord, _ caller: Caller
  ) async throws(UsherError) -> RevocationReply {
    let record = try current(record)
    guard
      let result = try await revoker.forget(record, revoke: call.revoke ?? true, by: .init(caller))
    else { throw AccountRepository.notFound(record.id) }
    return result.reply(about: record.id)
  }

  /// Returns the account as it is now: it may have been forgotten since the authorization.
  private func current(_ record: AccountRecord) throws(UsherError) -> AccountRecord {
    try repository.account(record.id, of: record.owner)
  }

  func key(for call: TokenGet, _ record: AccountRecord) throws(UsherError) -> TokenKey {
    let audience = try call.audience.map { (audience) throws(UsherError) in
      try checked(audience, record)
    }
    if call.field == .idToken { return try idTokenKey(for: call, record) }
    let full = TokenKey(audience: audience ?? "", scope: record.mainKey.scope)
    guard let scope = call.scope else { return full }
    if let variety = dependencies.configStore.current.tokenPlace(of: record.provider)?.variety,
      !ProviderRegistry.definition(of: variety).hasScopes
    {
      throw UsherError(
        .invalidParams, "tokens of provider \(record.provider) have no scope", field: "scope")
    }
    let requested = scope.scopeWords
    let granted = record.details.grant.scope.scopeWords
    guard !requested.isEmpty else { throw .wrongType("scope", "one or more scopes") }
    guard requested.isSubset(of: granted) else {
      throw beyondGrant(scope, record, field: "scope")
    }
    guard requested != granted else { return full }
    return TokenKey(partOfScope: scope, audience: full.audience)
  }
}

extension TokenService {
  /// Returns the error for a scope that the account's grant does not include, or the token of an
  /// audience.
  func beyondGrant(
    _ scope: String, _ record: AccountRecord, audience: String? = nil, field: String
  ) -> UsherError {
    UsherError(
      .consentRequired, "the scope goes beyond what was granted: sign in to request the rest",
      detail: .init(
        field: field, next: record.signInAgain(for: scope, audience: audience, dependencies)))
  }

  /// Returns the audience if the account's provider can be asked for a token for it.
  private func checked(
    _ audience: String, _ record: AccountRecord
  ) throws(UsherError) -> String {
    let settings = dependencies.configStore.current.provider(record.provider)?.settings
    let ofOpenID = settings?.view(as: OIDCSettings.self)
    guard let parameter = ofOpenID?.audienceParameter else {
      throw UsherError(
        .invalidParams,
        "provider \(record.provider) issues tokens for one audience: omit audience"
          + (ofOpenID?.audienceAdvice ?? ""), field: "audience")
    }
    guard audience != TokenKey.idToken.audience else {
      throw UsherError(.invalidParams, "audience is the name of a token type", field: "audience")
    }
    if let violation = parameter.violation(audience) {
      throw UsherError(.invalidParams, "audience \(violation)", field: "audience")
    }
    return audience
  }

  private func idTokenKey(
    for call: TokenGet, _ record: AccountRecord
  ) throws(UsherError) -> TokenKey {
    guard call.scope == nil else {
      throw UsherError(
        .invalidParams, "an ID token has no scope of its own: omit scope", field: "scope")
    }
    guard call.audience == nil else {
      throw UsherError(
        .invalidParams, "the audience of an ID token is the client: omit audience",
        field: "audience")
    }
    guard record.details.grant.isOfClient != true else {
      throw UsherError(
        .invalidParams, "the account was signed in without a user, so it has no ID token",
        field: "field")
    }
    guard record.issuer != nil else {
      throw UsherError(
        .invalidParams, "provider \(record.provider) issues no ID tokens", field: "field")
    }
    return .idToken
  }
}

extension PolicyRequest {
  /// Returns the words of a token's scope. An empty scope may give access to anything, so it
  /// becomes the empty word, which no policy rule's list of scopes contains.
  static func scopes(_ scope: String) -> [String] {
    let words = scope.split(separator: " ").map(String.init)
    return words.isEmpty ? [""] : words
  }
}

extension UsherError {
  /// Returns the error for a request for a token whose scope exceeds the client's policy rule.
  static func scopeNotPermitted(_ scopes: [String]) -> UsherError {
    let permitted = scopes.isEmpty ? "none at all" : scopes.joined(separator: " ")
    return UsherError(
      .permissionDenied, "your rule allows tokens for these scopes only: \(permitted)",
      field: "scope")
  }
}
