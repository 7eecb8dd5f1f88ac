import FoundationEssentials
import JSONRPC
package import UsherCore

/// The reply of a token endpoint.
package typealias TokenReply = OAuthReply<TokenSet>

/// The parts of a token request that are needed to interpret its reply.
package struct TokenRequest: Sendable, Equatable {
  package var provider: ProviderName
  /// The scope that a reply without `scope` grants (RFC 6749 §5.1).
  package var scope: String
  /// The tokens before a refresh. A refresh token or ID token that the reply does not replace is
  /// kept (RFC 6749 §6).
  package var previous: TokenSet?
  package var rules = TokenReplyRules()
  /// The `issued_token_type` that the reply to a token exchange must have (RFC 8693 §2.2.1); nil
  /// for any other request.
  package var issuedTokenType: String?

  /// The identifier of access tokens in a token exchange (RFC 8693 §3).
  package static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

  package init(provider: ProviderName, scope: String, previous: TokenSet? = nil) {
    self.provider = provider
    self.scope = scope
    self.previous = previous
  }
}

/// How the token endpoint of a provider deviates from RFC 6749 in its replies.
package struct TokenReplyRules: Sendable, Equatable {
  /// The values of `token_type` that are accepted, in lower case; nil: any. All of them but `dpop`
  /// mean a bearer token.
  package var tokenTypes: [String]? = ["bearer"]
  /// Error codes that mean that a code or refresh token is no longer valid, in addition to the
  /// usual ones.
  package var grantEndedErrors: [String] = []
  /// Whether commas separate scopes, as spaces do, and an empty `scope` is a scope of its own.
  package var hasCommasInScope = false
  /// Whether an ID token is ignored.
  package var ignoresIDToken = false
  /// Whether the name of the grant is read.
  package var hasGrantID = false

  /// The only token type that is accepted for tokens that must be bound to a key (RFC 9449 §5).
  static let dpop = ["dpop"]
}

extension OAuthReply where Granted == TokenSet {
  /// Reads the reply to a request with a code, a refresh token or a device code.
  ///
  /// Only tokens of the type that the request expects are accepted (RFC 6749 §7.1).
  ///
  /// `expires_in` may be an integer, a float or either as a string. A negative value counts as 0
  /// and a value over ten years as ten years. Anything else leaves the expiry unknown. The lifetime
  /// counts from when the request was sent: the provider issued the tokens at some time between the
  /// request and the arrival of the reply.
  ///
  /// `refresh_expires_in`, which Paysafe and Keycloak send, is read in the same way, but there 0
  /// means that the refresh token never expires. A value between 0 and one second counts as 0.
  /// GitHub and Microsoft call it `refresh_token_expires_in`.
  package init(_ reply: HTTPReply, to request: TokenRequest, at now: Timestamp) {
    // The clock may have been set back in the meantime.
    let issuedAt = min(reply.requestedAt ?? now, now)
    self.init(
      reply, from: request.provider, grantEndedErrors: request.rules.grantEndedErrors
    ) { members throws(UnusableReply) in
      try TokenSet(members, request, issuedAt: issuedAt)
    }
  }
}

extension HTTPReply {
  /// The refresh token of a reply whose access token cannot be used; nil if there is none.
  ///
  /// The request may have invalidated the previous refresh token, so this one may be the last that
  /// is valid. It is therefore read even from a body that repeats a member name.
  package var salvagedRefreshToken: Secret? {
    guard (200..<300).contains(status) else { return nil }
    if let fields = formFields {
      guard !fields.contains(where: { $0.name == "error" && !$0.value.isEmpty }),
        let text = fields.last(where: { $0.name == "refresh_token" })?.value,
        text.isVisible(upTo: 65_536)
      else { return nil }
      return Secret(text)
    }
    guard
      let members = try? JSONDecoder().decode(SalvagedMembers.self, from: Data(body)),
      members.error?.isEmpty ?? true, let text = members.refreshToken, text.isVisible(upTo: 65_536)
    else { return nil }
    return Secret(text)
  }
}

private struct SalvagedMembers: Decodable {
  let error: String?
  let refreshToken: String?

  private enum CodingKeys: String, CodingKey {
    case error
    case refreshToken = "refresh_token"
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    error = try? members.decode(String.self, forKey: .error)
    refreshToken = try? members.decode(String.self, forKey: .refreshToken)
  }
}

extension TokenSet {
  fileprivate init(
    _ members: [String: JSONValue], _ request: TokenRequest, issuedAt: Timestamp
  ) throws(UnusableReply) {
    guard let access = members["access_token"]?.stringValue, !access.isEmpty else {
      throw UnusableReply("the provider's answer has no access_token")
    }
    // The token is sent in a header, so only visible ASCII is allowed (RFC 6749 appendix A.12).
    guard access.utf8.count <= 65_536, access.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw UnusableReply(
        "the provider's access_token has characters that are not allowed in a token")
    }
    if let expected = request.issuedTokenType {
      guard let issued = members["issued_token_type"]?.stringValue else {
        throw UnusableReply("the provider's answer has no issued_token_type")
      }
      guard issued.hasSameBytes(as: expected) else {
        throw UnusableReply("the provider's issued_token_type is not the requested one")
      }
    }
    let rules = request.rules
    guard let type = members["token_type"]?.stringValue,
      rules.tokenTypes?.contains(type.lowercased()) ?? true
    else {
      let expected =
        switch rules.tokenTypes {
        case ["bearer"]: "Bearer"
        case TokenReplyRules.dpop: "DPoP"
        case ["n_a"]: "N_A"
        default: "one of token_types"
        }
      throw UnusableReply(
        "the provider's token_type is not \(expected): found \(members.shownTokenType)")
    }
    let refreshLifetime =
      members["refresh_expires_in"]?.lifetime ?? members["refresh_token_expires_in"]?.lifetime
    var scope = members["scope"]?.scope.map { rules.hasCommasInScope ? $0.withoutCommas : $0 }
    // A GitHub App grants permissions that no scope names.
    if rules.hasCommasInScope, members["scope"] == "" { scope = "" }
    self.init(
      accessToken: Sealed(Secret(access)),
      tokenType: rules.tokenTypes == TokenReplyRules.dpop
        ? "DPoP" : type.lowercased() == "bearer" ? type : "Bearer",
      expiresAt: members["expires_in"]?.lifetime.map { issuedAt + $0 },
      scope: scope ?? request.scope,
      refreshToken: members.token("refresh_token") ?? request.previous?.refreshToken,
      refreshExpiresAt: refreshLifetime.flatMap { $0 > .zero ? issuedAt + $0 : nil },
      idToken: rules.ignoresIDToken
        ? nil : members.token("id_token") ?? request.previous?.idToken)
    if rules.hasGrantID { grantID = members.grantID }
  }
}

extension String {
  /// The scope with single spaces between its words, which commas or spaces separated.
  fileprivate var withoutCommas: String {
    split { $0 == "," || $0 == " " }.joined(separator: " ")
  }
}

extension [String: JSONValue] {
  /// The value of `token_type` for an error message.
  ///
  /// Text is shown only if it is a short name (RFC 6749 appendix A.13) and not part of another
  /// member's value, because it may be a token in the wrong place.
  fileprivate var shownTokenType: String {
    switch self["token_type"] {
    case nil, .string("")?: return "nothing"
    case .array?: return "an array"
    case .object?: return "an object"
    case .string(let text)?:
      let others = filter { $0.key != "token_type" }.values.compactMap(\.stringValue)
      let isName = text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
          || [0x2D, 0x2E, 0x5F].contains($0)
      }
      guard isName, text.utf8.count <= 12, !others.contains(where: { $0.contains(text) }) else {
        return "a text of \(text.unicodeScalars.count) characters"
      }
      return text
    case let value?: return ProviderText.found(value)
    }
  }

  /// The name of the grant if it can be one segment of a URL's path; nil if there is none.
  fileprivate var grantID: Sealed<Secret>? {
    token("grant_id").flatMap { name in
      let text = name.unsealed().revealed()
      return text.isVisible(upTo: 1024) && ![".", ".."].contains(text) ? name : nil
    }
  }

  fileprivate func token(_ name: String) -> Sealed<Secret>? {
    // A masked value is a secret of the request that the provider repeated: the token did not
    // change.
    guard let text = self[name]?.stringValue, !text.isEmpty, text != HTTPReply.echo else {
      return nil
    }
    return Sealed(Secret(text))
  }
}

extension JSONValue {
  /// `expires_in` in any notation, as whole seconds from 0 to ten years; nil if the value is not a
  /// finite number.
  var lifetime: Duration? {
    guard let seconds = numberValue ?? stringValue.flatMap(Double.init), seconds.isFinite else {
      return nil
    }
    return .seconds(Int(min(max(seconds, 0), 315_360_000)))
  }

  /// `scope` as a space-separated string; some servers send an array of strings.
  fileprivate var scope: String? {
    let text = stringValue ?? arrayValue?.compactMap(\.stringValue).joined(separator: " ")
    guard let text, !text.isEmpty else { return nil }
    return ProviderText.clean(text, limit: 4096)
  }
}
