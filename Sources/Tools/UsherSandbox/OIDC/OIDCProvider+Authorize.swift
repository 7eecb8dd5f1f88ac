import FoundationEssentials

extension OIDCBackend {
  /// Handles the authorization endpoint (RFC 6749 §4.1.1, OIDC Core §3.1.2).
  ///
  /// If the client or the redirect URI is invalid, the response is an error page, not a redirect.
  func authorize(_ call: EndpointCall) async -> Reply {
    let form: Form
    let client: Client
    let redirectURI: String
    do {
      let sent = try call.method == .get ? call.queryForm() : call.postedForm()
      try checkProfile(ofBrowser: sent)
      form = try await sent.has("request_uri") ? pushed(sent) : carried(sent, call)
      try checkDocument(of: form["client_id"])
      (client, redirectURI) = try clients.requester(form)
    } catch {
      return context.pages.failure(error)
    }
    do {
      var request = try AuthorizationRequest(form, client: client, redirectURI: redirectURI)
      try service?.check(request.scope)
      request.grantID = try grantID(form, client)
      let begun = ledger.begin(.authorization(request), now: context.clock.now())
      return loginPage(.authorization(request), begun.id, begun.csrf, username: request.loginHint)
    } catch {
      if service?.showsRefusals == true { return context.pages.failure(error) }
      let target = ResponseTarget(
        clientID: client.id, redirectURI: redirectURI, state: form["state"],
        mode: (try? ResponseMode(form)) ?? .query)
      return await authorizationResponse(
        to: target, call, ["error": error.error, "error_description": error.description])
    }
  }

  /// Stores the parameters of an authorization request, and returns a reference that is valid once,
  /// for a minute (RFC 9126 §2).
  func pushRequest(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let sent = try call.postedForm()
      let client = try await authenticate(call, sent)
      guard sent["client_id"] == client.id else {
        throw OAuthError("invalid_request", "client_id is missing")
      }
      let form = try await signed(sent, call)
      let (requester, redirectURI) = try clients.requester(form)
      try checkProfile(
        AuthorizationRequest(form, client: requester, redirectURI: redirectURI))
      let uri = "urn:ietf:params:oauth:request_uri:" + ledger.tokenGenerator.token("par")
      let now = context.clock.now()
      ledger.pushedRequests.insert(
        form, for: uri, until: now.addingTimeInterval(60), now: now)
      var reply = Reply.json(["request_uri": .string(uri), "expires_in": 60])
      reply.status = 201
      return reply
    }
  }

  /// Returns the request that the browser carries.
  private func carried(_ form: Form, _ call: EndpointCall) async throws(OAuthError) -> Form {
    guard !settings.demandsPushedRequests else {
      throw OAuthError("invalid_request", "the request must be pushed first")
    }
    return try await signed(form, call)
  }

  /// Returns the pushed request to which a form refers.
  private func pushed(_ form: Form) throws(OAuthError) -> Form {
    guard let uri = form["request_uri"],
      let known = ledger.pushedRequests.value(uri, now: context.clock.now()),
      known["client_id"] == form["client_id"]
    else { throw OAuthError("invalid_request", "request_uri is unknown, used or expired") }
    ledger.pushedRequests.remove(uri)
    return known
  }
}

extension AuthorizationRequest {
  /// Parses a request. Its refusals may be sent to the client by redirect.
  init(_ form: Form, client: Client, redirectURI: String) throws(OAuthError) {
    guard form["response_type"] == "code" else {
      throw OAuthError("unsupported_response_type", "response_type must be code")
    }
    let mode = try ResponseMode(form)
    guard !form.has("request"), !form.has("request_uri") else {
      throw OAuthError("request_not_supported", "request objects are not supported")
    }
    guard form["code_challenge_method"] == "S256" else {
      throw OAuthError("invalid_request", "code_challenge_method must be S256")
    }
    guard let challenge = form["code_challenge"], PKCEVerification.isChallenge(challenge) else {
      throw OAuthError("invalid_request", "code_challenge must be 43 base64url characters")
    }
    // A thumbprint has the form of a code challenge.
    guard form["dpop_jkt"].map(PKCEVerification.isChallenge) ?? true else {
      throw OAuthError("invalid_request", "dpop_jkt must be 43 base64url characters")
    }
    guard form["prompt"] != "none" else {
      throw OAuthError("login_required", "no user is signed in, and prompt is none")
    }
    self.init(
      client: client, responseMode: mode, redirectURI: redirectURI, state: form["state"],
      scope: try Scope.parse(form["scope"]), nonce: form["nonce"], challenge: challenge,
      loginHint: form["login_hint"], accessType: form["access_type"],
      prompt: form["prompt"], resources: form.audiences,
      claims: try RequestedClaims(form["claims"]),
      keyThumbprint: form["dpop_jkt"])
  }
}

extension RequestedClaims {
  /// Parses the parameter `claims`.
  fileprivate init(_ text: String?) throws(OAuthError) {
    self.init()
    guard let text else { return }
    guard case .object(let members)? = try? JSON(parsing: text.utf8) else {
      throw OAuthError("invalid_request", "claims must be a JSON object")
    }
    func names(_ member: String) -> Set<String> {
      guard case .object(let claims)? = members[member] else { return [] }
      return Set(claims.keys)
    }
    (userinfo, idToken) = (names("userinfo"), names("id_token"))
  }
}

/// Scopes (RFC 6749 §3.3). The sandbox grants any scope, known or unknown.
enum Scope {
  /// What the consent page says about scopes.
  static let meanings = [
    "openid": "know who you are", "profile": "see your name", "email": "see your e-mail address",
    "offline_access": "stay signed in when you are away",
  ]

  static func parse(_ text: String?) throws(OAuthError) -> [String] {
    try parse(text, separatedBy: [" "])
  }

  static func parse(
    _ text: String?, separatedBy separators: Set<Character>
  ) throws(OAuthError) -> [String] {
    let words = (text ?? "").split(whereSeparator: separators.contains).map(String.init)
    let isScope: (String) -> Bool = { word in
      word.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != 0x5C }
    }
    guard words.count <= 50, words.allSatisfy(isScope) else {
      throw OAuthError("invalid_scope", "there are more than 50 scopes, or a scope is invalid")
    }
    return words.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }
}
