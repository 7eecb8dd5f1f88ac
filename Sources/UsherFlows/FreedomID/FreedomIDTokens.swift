import JSONRPC
import UsherConfig
import UsherCore

/// How Freedom ID's tokens are read, refreshed and revoked. Expiry times are absolute; a refresh is
/// a PATCH with the refresh token as Bearer (provider contract §4.3, §10, traps 10 and 11).
struct FreedomIDTokens: TokenDialect {
  let mode: FreedomIDMode
  /// The owner's installation id, which is the device id at Freedom ID; nil in other modes than
  /// `device`.
  var device: String?

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? {
    switch mode {
    case .device: FreedomDeviceCall.renewal(refreshToken, device: device)
    case .oauth2: FreedomPartnerCall.renewal(refreshToken)
    case .oidc: nil
    }
  }

  func read(_ reply: HTTPReply, to request: TokenRequest, at now: Timestamp) -> TokenReply {
    switch FreedomIDReply(.reply(reply)) {
    case .success(let members):
      do throws(UnusableReply) {
        return .granted(
          try TokenSet(
            freedomID: members, scope: request.scope, previous: request.previous,
            keepsID: mode == .oauth2))
      } catch {
        return .unreadable(message: error.message)
      }
    case .refused(let refusal):
      let errorCode = refusal.errorCode.providerErrorCode(request.provider, refusal)
      switch refusal.errorCode {
      // Freedom ID rejects the daemon's API key or app, which affects every account.
      case .incorrectApiKey, .appIntegrityError: return .misconfigured(errorCode)
      // Only an error code about the account ends it. Any other error may come from an intermediary
      // instead of Freedom ID.
      case .autheticationError, .authError, .accessDenied: return .dead(errorCode)
      default:
        if refusal.status == 401, refusal.code == nil { return .dead(errorCode) }
        return refusal.code == nil && !refusal.isInBody
          ? .retry(message: refusal.sentence, after: refusal.retryAfter) : .rejected(errorCode)
      }
    case .failed(let failure): return .retry(message: failure.message, after: failure.retryAfter)
    case .unreadable(let flaw): return .unreadable(message: flaw.message)
    case .noToken(let message): return .unreadable(message: message)
    }
  }

  /// Returns the call that unlinks the account from this device, which invalidates its tokens; nil
  /// in mode `oauth2`, for which no revocation is documented.
  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    mode == .device ? FreedomDeviceCall.untying(token, device: device) : nil
  }

  /// Returns whether the token is invalid after the call that unties the device: it succeeded, or
  /// the token was invalid before.
  func hasRevoked(_ reply: HTTPReply) -> Bool {
    switch FreedomIDReply(.reply(reply), needsBody: false) {
    case .success: true
    case .refused(let refusal): refusal.refusesToken
    case .failed, .unreadable, .noToken: false
    }
  }
}

extension TokenSet {
  /// Reads the reply of Freedom ID's token endpoint.
  ///
  /// - Parameters:
  ///   - previous: The tokens before a refresh. Their refresh token stays if the reply contains
  ///     none.
  ///   - keepsID: Whether the account stores the hash of the tokens' id, which Freedom ID sends to
  ///     the `revoke_uri` when the user logs out.
  init(
    freedomID members: [String: JSONValue], scope: String, previous: TokenSet? = nil,
    keepsID: Bool = false
  ) throws(UnusableReply) {
    guard let access = try Self.token("access_token", members) else {
      throw UnusableReply("the provider's answer has no access_token")
    }
    let refresh = try Self.token("refresh_token", members)
    let expiresAt = try Self.time("access_expire_at", members)
    let refreshExpiresAt = try Self.time("refresh_expire_at", members)
    let id = members["id"]?.stringValue.map { ProviderText.clean($0, limit: 128) }
    self.init(
      accessToken: access, tokenType: "Bearer", expiresAt: expiresAt, scope: scope,
      refreshToken: refresh ?? previous?.refreshToken,
      refreshExpiresAt: refreshExpiresAt ?? (refresh == nil ? previous?.refreshExpiresAt : nil),
      attributes: keepsID
        ? id.map { [FreedomTokenID.attribute: FreedomTokenID.hash(of: $0)] } : nil)
  }

  /// Returns a token of the reply; nil if it is absent. It is sent in a header, so only visible
  /// ASCII is allowed (RFC 6749 appendix A.12).
  private static func token(
    _ name: String, _ members: [String: JSONValue]
  ) throws(UnusableReply) -> Sealed<Secret>? {
    guard let value = members[name], !value.isNull else { return nil }
    guard let text = value.visibleText(upTo: 65_536) else {
      throw UnusableReply("the provider's \(name) has characters that are not allowed in a token")
    }
    return Sealed(Secret(text))
  }

  private static func time(
    _ name: String, _ members: [String: JSONValue]
  ) throws(UnusableReply) -> Timestamp? {
    guard let value = members[name], !value.isNull else { return nil }
    guard let time = value.stringValue.flatMap({ Timestamp(rfc3339: $0) }) else {
      throw UnusableReply("the provider's \(name) is not an RFC 3339 time")
    }
    return time
  }
}
