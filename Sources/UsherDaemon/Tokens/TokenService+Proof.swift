import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Proofs for the requests of programs with a token that is bound to a key (DPoP, RFC 9449).
extension TokenService {
  /// Implements `token.proof`.
  ///
  /// The reply has the token for which the proof is, because the token may be refreshed between two
  /// calls.
  ///
  /// - Parameter scopes: The scopes that the policy permits for the token; nil: any.
  func proof(
    _ call: TokenProof, of record: AccountRecord, _ caller: Caller, within scopes: [String]?
  ) throws(UsherError) -> Response {
    try Self.check(call)
    // All checks of `token.get` apply.
    let get = TokenGet(scope: call.scope, audience: call.audience)
    let response = try self.get(get, of: record, caller, within: scopes)
    let key = try key(for: get, record)
    switch response {
    case .now, .cacheable: return .now(try reply(call, key, record))
    case .later(let token):
      return .later { [self, id = record.id] () async throws(UsherError) -> [UInt8] in
        _ = try await token()
        return try reply(call, key, try repository.account(id, for: caller, TokenProof.name))
      }
    case .cold, .resumed:
      throw UsherError(.internalError, "token.get of an account in memory waits for the disk")
    }
  }

  private static func check(_ call: TokenProof) throws(UsherError) {
    guard DPoPKey.isMethod(call.method) else {
      throw .wrongType("method", "an HTTP method, such as GET")
    }
    do throws(SettingError) {
      _ = try ProviderURL(setting: call.url)
    } catch {
      throw UsherError(.invalidParams, "url \(error.message)", field: "url")
    }
    guard call.nonce.map(DPoPKey.isNonce) ?? true else {
      throw .wrongType("nonce", "the value of a service's header DPoP-Nonce")
    }
  }

  private func reply(
    _ call: TokenProof, _ key: TokenKey, _ record: AccountRecord
  ) throws(UsherError) -> [UInt8] {
    guard let token = record.usableToken(key)?.set else { throw AccountRepository.changedMeanwhile }
    guard token.tokenType == "DPoP", let dpopKey = record.details.grant.dpopKey else {
      throw UsherError(
        .invalidParams,
        "the token of account \(record.id) is of type \(token.tokenType), for which there is no "
          + "proof: use token.get")
    }
    let accessToken = token.accessToken.unsealed()
    let request = DPoPKey.Request(
      method: call.method, url: call.url, accessToken: accessToken, nonce: call.nonce)
    let proof = try DPoPKey(stored: dpopKey.unsealed()).proof(
      for: request, at: dependencies.transitionContext())
    return try ReplyEncoder.encode(
      TokenProof.Reply(
        proof: WireSecret(proof), accessToken: WireSecret(accessToken), tokenType: token.tokenType,
        expiresAt: token.expiresAt, account: record.id))
  }
}
