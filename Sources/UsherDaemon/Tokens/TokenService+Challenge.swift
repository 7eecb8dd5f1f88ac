import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Calls with the challenge of a service that has refused a token.
extension TokenService {
  /// Returns the call without its challenge, which gets a token that may satisfy the service.
  ///
  /// - Throws: `consentRequired` or `reauthenticationRequired`, with the flow in `next` that gets
  ///   what the service demands; `invalidParams` if no token can help.
  func call(
    answering call: TokenGet, _ text: String, of record: AccountRecord
  ) throws(UsherError) -> TokenGet {
    guard call.field != .idToken, call.scope == nil, call.forceRefresh == nil else {
      throw Self.wrong("goes without field, scope and forceRefresh")
    }
    guard let challenge = BearerChallenge(text) else {
      throw Self.wrong("is not a WWW-Authenticate header with a Bearer or DPoP challenge")
    }
    var answer = call
    answer.challenge = nil
    switch challenge.error {
    case nil: break
    case "invalid_token"?: answer.forceRefresh = true
    case "use_dpop_nonce"?:
      throw Self.wrong("demands a nonce: call token.proof with the value of the header DPoP-Nonce")
    case "insufficient_scope"?:
      let demanded = (challenge.scope ?? "").scopeWords
      guard demanded.isSubset(of: scope(ofToken: call.audience, record).scopeWords) else {
        throw beyondGrant(
          challenge.scope ?? "", record, audience: call.audience, field: "challenge")
      }
    case "insufficient_user_authentication"?:
      guard record.details.signIn?.satisfies(challenge, at: dependencies.clock.now()) == true else {
        throw try stronger(challenge, record)
      }
    case let error?:
      throw Self.wrong("has the error \(ProviderText.clean(error, limit: 100)): no token helps")
    }
    return answer
  }

  /// Returns the scope of the token for an audience, which the provider may have issued with less
  /// scope than the grant has. Without such a token it is the scope of the grant.
  private func scope(ofToken audience: String?, _ record: AccountRecord) -> String {
    guard let audience,
      let token = record.usableToken(TokenKey(audience: audience, scope: record.mainKey.scope)),
      token.isAlive(at: dependencies.clock.now())
    else { return record.details.grant.scope }
    return token.set.scope
  }

  /// Returns the error that the user must authenticate as the service demands (RFC 9470 §4).
  private func stronger(
    _ challenge: BearerChallenge, _ record: AccountRecord
  ) throws(UsherError) -> UsherError {
    guard record.details.grant.isOfClient != true else {
      throw Self.wrong(
        "demands the authentication of a user, but the account was signed in without one")
    }
    guard record.issuer != nil else {
      throw Self.wrong("demands what a provider without ID tokens cannot confirm")
    }
    let scope = record.details.grant.scope
    return UsherError(
      .reauthenticationRequired, "the service demands another authentication of the user: sign in",
      detail: .init(
        field: "challenge",
        next: record.signInAgain(for: scope, answering: challenge, dependencies)))
  }

  private static func wrong(_ message: String) -> UsherError {
    UsherError(.invalidParams, "challenge \(message)", field: "challenge")
  }
}

extension SignInClaims {
  /// Whether the user has authenticated as the service demands.
  fileprivate func satisfies(_ challenge: BearerChallenge, at now: Timestamp) -> Bool {
    if let classes = challenge.acrValues?.split(separator: " ").map(String.init) {
      guard let used = authenticationClass, classes.contains(where: { $0.hasSameBytes(as: used) })
      else { return false }
    }
    guard let maxAge = challenge.effectiveMaxAge else { return true }
    // The clock of the provider may differ by as much as a sign-in tolerates.
    guard let authenticatedAt else { return false }
    // A service may demand any age, also one to which no integer can be added.
    return (.seconds(-60)...(.seconds(maxAge) + .seconds(60))).contains(now - authenticatedAt)
  }
}
