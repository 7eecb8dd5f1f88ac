import JSONRPC
package import UsherCore

/// What a token endpoint answered.
package typealias TokenReply = OAuthReply<TokenSet>

/// What was asked of a token endpoint, as far as the answer depends on it.
package struct TokenRequest: Sendable, Equatable {
  package var provider: ProviderName
  /// The scope the answer means where it names none (RFC 6749 §5.1).
  package var scope: String
  /// The tokens there were: a refresh keeps what it is not given anew (§6).
  package var previous: TokenSet?

  package init(provider: ProviderName, scope: String, previous: TokenSet? = nil) {
    self.provider = provider
    self.scope = scope
    self.previous = previous
  }
}

extension OAuthReply where Granted == TokenSet {
  /// Reads the reply to a code, a refresh token or a device code.
  ///
  /// Only Bearer tokens are taken (RFC 6749 §7.1). An `expires_in` may be an integer, a float or
  /// either as a string; a negative one means now, one beyond ten years ten years, anything else
  /// that nothing is known. So may `refresh_expires_in`, which Paysafe and Keycloak send; there 0 says
  /// that it never expires, and less than a second or a negative one is taken for 0.
  package init(_ reply: HTTPReply, to request: TokenRequest, at now: Timestamp) {
    self.init(reply, from: request.provider) { members throws(UnusableReply) in
      try TokenSet(members, request, now)
    }
  }
}

extension TokenSet {
  fileprivate init(
    _ members: [String: JSONValue], _ request: TokenRequest, _ now: Timestamp
  ) throws(UnusableReply) {
    guard let access = members["access_token"]?.stringValue, !access.isEmpty else {
      throw UnusableReply("the provider's answer has no access_token")
    }
    // It will stand in a header: visible ASCII only (RFC 6749 appendix A.12).
    guard access.utf8.count <= 65_536, access.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw UnusableReply("the provider's access_token has characters that no token has")
    }
    guard let type = members["token_type"]?.stringValue, type.lowercased() == "bearer" else {
      throw UnusableReply("the provider's token_type is not Bearer")
    }
    self.init(
      accessToken: Sealed(Secret(access)), tokenType: type,
      expiresAt: members["expires_in"]?.lifetime.map { now + $0 },
      scope: members["scope"]?.scope ?? request.scope,
      refreshToken: members.token("refresh_token") ?? request.previous?.refreshToken,
      refreshExpiresAt: members["refresh_expires_in"]?.lifetime.flatMap {
        $0 > .zero ? now + $0 : nil
      },
      idToken: members.token("id_token") ?? request.previous?.idToken)
  }
}

extension [String: JSONValue] {
  fileprivate func token(_ name: String) -> Sealed<Secret>? {
    guard let text = self[name]?.stringValue, !text.isEmpty else { return nil }
    return Sealed(Secret(text))
  }
}

extension JSONValue {
  /// `expires_in`, however it is written: whole seconds from 0 to ten years; nil for what is no
  /// finite number.
  var lifetime: Duration? {
    guard let seconds = numberValue ?? stringValue.flatMap(Double.init), seconds.isFinite else {
      return nil
    }
    return .seconds(Int(min(max(seconds, 0), 315_360_000)))
  }

  /// `scope`: a string, or the array of strings that some servers send.
  fileprivate var scope: String? {
    let text = stringValue ?? arrayValue?.compactMap(\.stringValue).joined(separator: " ")
    guard let text, !text.isEmpty else { return nil }
    return ProviderText.clean(text, limit: 4096)
  }
}
