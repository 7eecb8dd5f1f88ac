import UsherConfig
package import UsherCore

/// A call to an OpenID provider.
///
/// Each case carries its own parameters. `render(_:)` adds the client id, client secret and
/// audience.
package enum OIDCCall: ProviderCall {
  /// Fetches one of the provider's metadata documents, ``OIDCMetadata/wellKnownURLs(issuer:)``.
  case discovery(url: String)
  case jwks(url: String)
  /// Redeems an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.5).
  case exchange(Exchange, OIDCMetadata)
  /// Refreshes an access token (RFC 6749 §6).
  ///
  /// - Parameters:
  ///   - scope: The scope of the grant or a part of it; nil asks for all of it.
  ///   - audience: The audience of the token; nil for what the provider issues without one.
  case refresh(Secret, scope: String?, audience: String? = nil, OIDCMetadata)
  /// Requests a token for the client itself (RFC 6749 §4.4).
  ///
  /// - Parameters:
  ///   - scope: The whole scope of the token; empty if the provider decides.
  ///   - audience: The audience of the token; nil for what the provider issues without one.
  case clientCredentials(scope: String, audience: String? = nil, OIDCMetadata)
  /// Requests a token by an assertion (RFC 7523 §2.1).
  case jwtBearer(JWTBearer, OIDCMetadata)
  /// Exchanges an access token for one for an audience (RFC 8693 §2.1), or an ID token for an
  /// assertion.
  case tokenExchange(TokenExchange, OIDCMetadata)
  /// Revokes an access or refresh token (RFC 7009 §2.1).
  case revoke(Revocation, OIDCMetadata)
  /// Fetches the user's profile from the userinfo endpoint (OIDC Core §5.3).
  case userinfo(accessToken: Secret, OIDCMetadata)
  /// Sends the parameters of an authorization request to the provider (RFC 9126 §2.1).
  case pushAuthorization([String: String], OIDCMetadata)
  /// Requests a device code (RFC 8628 §3.1).
  ///
  /// - Parameter audiences: The audiences for which tokens will be requested.
  case deviceAuthorization(scope: String, audiences: [String] = [], OIDCMetadata)
  /// Asks the provider to authenticate a user on the user's own device (CIBA Core §7.1).
  case backchannelAuthentication(BackchannelRequest, OIDCMetadata)
  /// Polls for the tokens of an authentication request (CIBA Core §10.1).
  case backchannelPoll(requestID: Secret, OIDCMetadata)
  /// Polls for the tokens of a device code (RFC 8628 §3.4).
  case devicePoll(deviceCode: Secret, OIDCMetadata)
  /// Makes a call with a proof that the daemon has the key to which the tokens of the call are
  /// bound (RFC 9449).
  indirect case bound(OIDCCall, key: Secret)

  package struct Exchange: Sendable, Equatable {
    package var code: Secret
    package var verifier: Secret
    package var redirectURI: String
  }

  package struct JWTBearer: Sendable, Equatable {
    /// Whom the token is for.
    package var subject: String
    /// The whole scope of the token; empty if the provider decides.
    package var scope: String
    /// The audience of the token; nil for what the provider issues without one.
    package var audience: String?
    /// The account of another provider whose assertion is presented; nil if the daemon signs one,
    /// or reads one from a file.
    package var identity: AccountID?
  }

  package struct BackchannelRequest: Codable, Sendable, Equatable {
    package var scope: String
    /// The user, as the provider knows the user.
    package var loginHint: String
    /// The text that the user's device shows.
    package var bindingMessage: String?
    /// The classes of authentication, with spaces between them.
    package var acrValues: String?
    /// The audiences for which tokens will be requested.
    package var audiences: [String]
  }

  package struct TokenExchange: Sendable, Equatable {
    /// The token that is exchanged.
    package var subject: Secret
    /// The scope of the new token; nil if the provider decides.
    package var scope: String?
    package var audience: String
    /// The assertion that is requested in place of an access token; ``subject`` is then an ID
    /// token.
    package var assertion: Assertion?

    package struct Assertion: Sendable, Equatable {
      /// The resource for which another provider will issue a token; nil if that decides.
      package var resource: String?
    }
  }

  package struct Revocation: Sendable, Equatable {
    package var token: Secret
    package var kind: TokenKind
    /// An access token to send as `Authorization: Bearer` in place of client authentication. Some
    /// servers require that of public clients, so the daemon tries it after a first attempt was
    /// refused.
    package var bearer: Secret?
  }

  package var name: String {
    switch self {
    case .discovery: "discovery"
    case .jwks: "jwks"
    case .exchange, .refresh, .clientCredentials, .jwtBearer, .tokenExchange, .devicePoll,
      .backchannelPoll:
      "token"
    case .revoke: "revocation"
    case .userinfo: "userinfo"
    case .deviceAuthorization: "device_authorization"
    case .backchannelAuthentication: "backchannel_authentication"
    case .pushAuthorization: "par"
    case .bound(let call, key: _): call.name
    }
  }

  package var endpoint: ProviderEndpoint {
    switch self {
    case .exchange, .refresh, .clientCredentials, .jwtBearer, .tokenExchange, .devicePoll,
      .backchannelPoll:
      .token
    case .discovery, .jwks, .revoke, .userinfo, .deviceAuthorization, .pushAuthorization,
      .backchannelAuthentication:
      .other
    case .bound(let call, key: _): call.endpoint
    }
  }

  package var authenticatesClient: Bool {
    switch self {
    case .exchange, .refresh, .clientCredentials, .jwtBearer, .tokenExchange, .devicePoll,
      .deviceAuthorization, .pushAuthorization, .backchannelAuthentication, .backchannelPoll:
      true
    case .revoke(let revocation, _): revocation.bearer == nil
    case .discovery, .jwks, .userinfo: false
    case .bound(let call, key: _): call.authenticatesClient
    }
  }

  package var carriesProof: Bool { if case .bound = self { true } else { false } }

  /// Whether a client with a certificate presents it in this call: when it authenticates itself,
  /// and with an access token, which may be bound to the certificate (RFC 8705 §3).
  var presentsCertificate: Bool {
    switch self {
    case .discovery, .jwks: false
    case .exchange, .refresh, .clientCredentials, .jwtBearer, .tokenExchange, .revoke, .userinfo,
      .pushAuthorization, .deviceAuthorization, .devicePoll, .backchannelAuthentication,
      .backchannelPoll:
      true
    case .bound(let call, key: _): call.presentsCertificate
    }
  }

  package var revokedToken: RevokedToken? {
    guard case .revoke(let revocation, _) = self else { return nil }
    return RevokedToken(secret: revocation.token, kind: revocation.kind)
  }

  /// Returns the call that revokes tokens which the daemon will not use; empty if the provider has
  /// no revocation endpoint.
  ///
  /// The call revokes the refresh token if there is one, because that can end the whole grant (RFC
  /// 7009 §2.1), else the access token.
  package static func revoking(_ tokens: TokenSet, _ metadata: OIDCMetadata) -> [OIDCCall] {
    guard metadata.revocationEndpoint != nil else { return [] }
    let revocation =
      if let refresh = tokens.refreshToken, metadata.revokesAccessTokensOnly != true {
        Revocation(token: refresh.unsealed(), kind: .refreshToken)
      } else {
        Revocation(token: tokens.accessToken.unsealed(), kind: .accessToken)
      }
    return [.revoke(revocation, metadata)]
  }
}

extension FlowMachine where Call == OIDCCall {
  /// Returns the calls that revoke the tokens of a reply that arrived after its flow had ended.
  package static func cleanUp(_ call: OIDCCall, _ outcome: CallOutcome) -> [OIDCCall] {
    guard case .reply(let reply) = outcome else { return [] }
    switch call {
    case .bound(let call, key: _): return cleanUp(call, outcome)
    case .exchange(_, let metadata), .devicePoll(_, let metadata),
      .backchannelPoll(_, let metadata),
      .clientCredentials(_, _, let metadata), .jwtBearer(_, let metadata):
      var request = TokenRequest(provider: ProviderName(""), scope: "")
      request.rules.tokenTypes = nil
      let answer = TokenReply(reply, to: request, at: Timestamp(milliseconds: 0))
      guard case .granted(let tokens) = answer else { return [] }
      return OIDCCall.revoking(tokens, metadata)
    case .discovery, .jwks, .refresh, .tokenExchange, .revoke, .userinfo, .deviceAuthorization,
      .pushAuthorization, .backchannelAuthentication:
      return []
    }
  }
}
