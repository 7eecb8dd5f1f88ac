import Crypto
import FoundationEssentials

extension PaysafeBackend {
  /// Handles the token endpoint (RFC 6749 §3.2). Clients with a secret must use HTTP Basic.
  func token(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let brand = try brand(call)
      let form = try call.postedForm()
      guard !form.has("client_secret") else {
        throw OAuthError.client("the client secret must be in the Authorization header")
      }
      let client = try clients.authenticate(call, form)
      let now = context.clock.now()
      switch try form.required("grant_type") {
      case "client_credentials":
        guard client.secret != nil else {
          throw OAuthError("unauthorized_client", "a public client cannot get a config token")
        }
        return try await configReply(client, brand, call)
      case "authorization_code":
        let verifier = try form.required("code_verifier")
        guard PKCEVerification.isVerifier(verifier) else {
          throw OAuthError(
            "invalid_request", "code_verifier must be 43 to 128 unreserved characters")
        }
        let issued = try tokens.redeemCode(
          try form.required("code"), client: client, brand: brand.identity,
          redirectURI: try form.required("redirect_uri"), verifier: verifier, now: now)
        return try await reply(issued, call)
      case "refresh_token":
        let issued = try tokens.refresh(
          try form.required("refresh_token"), client: client, brand: brand.identity, scope: nil,
          now: now)
        return try await reply(issued, call)
      default:
        throw OAuthError("unsupported_grant_type", "there is no such grant_type")
      }
    }
  }

  private func configReply(_ client: Client, _ brand: Brand, _ call: EndpointCall) async throws
    -> Reply
  {
    let settings = settings
    let issued = configTokens.issue(
      client, brand, seconds: settings.accessTokenSeconds, now: context.clock.now())
    var claims = claims(call, clientID: client.id, seconds: settings.accessTokenSeconds)
    claims["sub"] = .string(client.id)
    claims["jti"] = .string(issued.id)
    var members: [String: JSON] = [
      "access_token": .string(try await signer.sign(claims, type: "at+jwt")),
      "token_type": "Bearer", "expires_in": .integer(settings.accessTokenSeconds),
      "scope": .string(Self.scope),
    ]
    if settings.digitalFingerprint { members["digital_fingerprint"] = .string(issued.fingerprint) }
    return .json(.object(members.applying(overrides: settings.tokenReply)))
  }

  /// Returns the response with a customer's tokens, with the overrides from the settings.
  func reply(_ issued: IssuedTokens, _ call: EndpointCall) async throws -> Reply {
    let settings = settings
    let user = issued.authorization.user
    var claims = claims(call, clientID: issued.authorization.clientID, seconds: issued.expiresIn)
    claims["sub"] = .string(user.sub)
    var access = claims
    access["jti"] = .string(issued.accessToken)
    access["brand"] = issued.authorization.brand.map { .string($0) }
    var members: [String: JSON] = [
      "access_token": .string(try await signer.sign(access, type: "at+jwt")),
      "token_type": "Bearer", "expires_in": .integer(issued.expiresIn),
      "scope": .string(issued.scope.joined(separator: " ")),
    ]
    if let refresh = issued.refreshToken {
      members["refresh_token"] = .string(refresh)
      members["refresh_expires_in"] = .integer(settings.refreshTokenSeconds)
    }
    if settings.idToken {
      claims.merge(["name": .string(user.name), "email": .string(user.email)]) { $1 }
      members["id_token"] = .string(try await signer.sign(claims, type: "JWT"))
    }
    var reply = Reply.json(.object(members.applying(overrides: settings.tokenReply)))
    reply.headers["Pragma"] = "no-cache"
    return reply
  }

  private func claims(_ call: EndpointCall, clientID: String, seconds: Int) -> [String: JSON] {
    let now = Int(context.clock.now().timeIntervalSince1970)
    return [
      "iss": .string(call.base + Self.path), "aud": .string(clientID), "iat": .integer(now),
      "exp": .integer(now + seconds),
    ]
  }
}
