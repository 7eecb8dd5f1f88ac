/// A fake of Paysafe's Embedded Wallets: sign-in with PIN or password, Strong Customer
/// Authentication (SCA), and a wallet with operations that require SCA.
///
/// <doc:Paysafe> lists paths, form fields, control calls and settings. The contract in the daemon's
/// documentation specifies the protocol.
package actor PaysafeBackend: Backend {
  let context: BackendContext
  let clients = ClientRegistry(Client.paysafe)
  let signer = TokenSigner()
  var settings = PaysafeBackendSettings()
  var signIns: SignIns
  var configTokens: ConfigTokens
  var tokens: TokenLedger
  var events: ScaLedger
  var wallets: Wallets

  static let path = "/paysafe"
  static let scope = "whitelabelWallet"

  package init(_ context: BackendContext) {
    self.context = context
    signIns = SignIns(tokenGenerator: context.tokenGenerator)
    configTokens = ConfigTokens(tokenGenerator: context.tokenGenerator)
    tokens = TokenLedger(PaysafeBackendSettings().terms, tokenGenerator: context.tokenGenerator)
    events = ScaLedger(tokenGenerator: context.tokenGenerator)
    wallets = Wallets(context.users, tokenGenerator: context.tokenGenerator)
  }

  package nonisolated var title: String { "Paysafe Embedded Wallets" }

  package nonisolated var endpoints: [Endpoint] {
    let brand = "/auth/brands/{brandIdentity}"
    let event = "/auth/sca/events/{eventId}"
    return [
      row("authorize", .get, "\(brand)/authorize", authorize),
      row("login", .post, "\(brand)/login", login),
      row("token", .post, "\(brand)/token", token),
      row("event", .get, event, readEvent),
      row("challenge", .post, "\(event)/challenges", challenge),
      row("attempt", .post, "\(event)/attempts", attempt),
      row("push", .get, "/push/{challengeId}", approvalPage),
      row("push", .post, "/push/{challengeId}", approve),
      row("redirect", .get, "/redirect/{challengeId}", approvalPage),
      row("redirect", .post, "/redirect/{challengeId}", approve),
      wallet("balance", .get, "balance") { _, _ in .readBalance },
      wallet("payments", .get, "payments") { _, _ in .readPayments },
      wallet("payment", .post, "payments", WalletRequest.payment),
      wallet("payees", .get, "payees") { _, _ in .readPayees },
      wallet("payee", .put, "payees/{payeeId}", WalletRequest.payee),
      wallet("payee", .delete, "payees/{payeeId}") { call, _ in
        .removePayee(id: call.parameters["payeeId"] ?? "")
      },
      wallet("limits", .get, "limits") { _, _ in .readLimits },
      wallet("limits", .patch, "limits", WalletRequest.limits),
    ]
  }

  package nonisolated var controls: [Endpoint] {
    [
      control("settings", .get, "settings", readSettings),
      control("settings", .post, "settings", changeSettings),
      control("settings", .delete, "settings", resetSettings),
      control("events", .get, "events", listEvents),
      control("events", .post, "events", openEvent),
      control("events", .get, "events/{id}", showEvent),
      control("events", .post, "events/{id}", changeEvent),
      control("decision", .post, "events/{id}/decision", decideEvent),
      control("authenticator", .get, "authenticator", showAuthenticator),
      control("tokens", .get, "tokens", listTokens),
      control("tokens", .post, "tokens", openGrant),
      control("revokeAll", .post, "revokeAll", revokeAll),
      control("endAccessTokens", .post, "endAccessTokens", endAccessTokens),
      control("locks", .delete, "locks", unlockAll),
      control("operations", .get, "operations", listOperations),
    ]
  }

  package nonisolated func links(base: String) -> [Link] {
    let callback = PercentEncoding.encoded("http://127.0.0.1/callback")
    // The code challenge of RFC 7636 appendix B.
    let query =
      "client_id=acme-public&response_type=code&state=look&code_challenge_method=S256"
      + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&redirect_uri=\(callback)"
    return Brand.standard.map { brand in
      Link(
        "Sign-in page of \(brand.identity)",
        "\(base)\(Self.path)/auth/brands/\(brand.identity)/authorize?\(query)")
    }
  }

  package nonisolated func configurationSample(base: String) -> String {
    """
    [[provider]]
    name = "paysafe"
    type = "paysafe"
    base_url = "\(base)\(Self.path)"
    brand_identity = "acme"
    client_id = "acme-wallet"
    client_credential = "paysafe-client-secret"
    digital_fingerprint = true
    operations = [
      "GET:/wallets/*/balance", "GET:/wallets/*/payments", "POST:/wallets/*/payments",
      "GET:/wallets/*/payees", "PUT:/wallets/*/payees/*", "DELETE:/wallets/*/payees/*",
      "GET:/wallets/*/limits", "PATCH:/wallets/*/limits",
    ]

    # The client secret is s3cret:+/%
    # To use the client without a secret, omit client_credential and set
    # client_id = "acme-public"
    """
  }

  private nonisolated func row(
    _ name: String, _ method: Endpoint.Method, _ path: String,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("paysafe.\(name)", method, Self.path + path, handle: handle)
  }

  private nonisolated func wallet(
    _ name: String, _ method: Endpoint.Method, _ path: String,
    _ read: @escaping @Sendable (EndpointCall, JSON?) throws(OAuthError) -> WalletRequest
  ) -> Endpoint {
    row(name, method, "/wallets/{walletId}/\(path)") { await self.operate($0, read) }
  }

  private nonisolated func control(
    _ name: String, _ method: Endpoint.Method, _ path: String,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("paysafe.\(name)", method, "/_control/paysafe/\(path)", handle: handle)
  }
}

extension PaysafeBackend {
  /// Returns the user of the request's access token; throws a ``BearerRefusal``.
  func customer(_ call: EndpointCall) async throws -> User {
    guard call.headers["authorization"] != nil else { throw BearerRefusal.missing }
    guard let token = call.bearer, let id = await signer.claims(of: token)?["jti"]?.text
    else { throw BearerRefusal.invalid }
    let now = context.clock.now()
    if configTokens.isLive(id, now: now) { throw BearerRefusal.notACustomers }
    guard let permission = tokens.permission(of: id, now: now) else {
      throw BearerRefusal.invalid
    }
    return permission.user
  }

  /// Returns the brand in the request's path; throws a refusal with status 404.
  nonisolated func brand(_ call: EndpointCall) throws(OAuthError) -> Brand {
    let identity = call.parameters["brandIdentity"]
    guard let brand = Brand.standard.first(where: { $0.identity == identity }) else {
      throw OAuthError("invalid_request", "there is no such brand", status: 404)
    }
    return brand
  }
}
