/// A fake of Freedom ID: the device API of its SDK, the partner API with its pages, and OpenID.
///
/// <doc:FreedomID> lists paths, people, control calls and settings. The contract in the daemon's
/// documentation specifies the protocols. `device-api.openapi.json` describes the device API.
package actor FreedomIDBackend: Backend {
  let context: BackendContext
  let sendCallback: CallbackSender
  var settings = FreedomIDBackendSettings()
  var ledger: FreedomLedger
  var logins: FreedomLogins
  var visits: FreedomVisits
  var revocations = FreedomRevocations()
  let keys = SigningKeys()

  static let path = "/freedomid"

  package init(_ context: BackendContext) {
    self.init(context, sendCallback: LoopbackCaller.post)
  }

  /// - Parameter sendCallback: Reports to the partner that a person has logged out.
  init(_ context: BackendContext, sendCallback: @escaping CallbackSender) {
    self.context = context
    self.sendCallback = sendCallback
    ledger = FreedomLedger(context.users, tokenGenerator: context.tokenGenerator)
    logins = FreedomLogins(tokenGenerator: context.tokenGenerator)
    visits = FreedomVisits(tokenGenerator: context.tokenGenerator)
  }

  package nonisolated var title: String { "Freedom ID" }

  package nonisolated var endpoints: [Endpoint] { device + partner + openID + pages }

  private nonisolated var device: [Endpoint] {
    let device = "/api/v1/device"
    return [
      row("accounts", .get, "\(device)/accounts", accounts),
      row("otp", .post, "\(device)/login/otp", beginOTP),
      row("verify", .post, "\(device)/login/otp/verify", verifyOTP),
      row("password", .post, "\(device)/login/password", password),
      row("twoFactor", .post, "\(device)/login/two-factor", verifyTwoFactor),
      row("resend", .post, "\(device)/login/resend", resend),
      row("renew", .patch, "\(device)/token", renewBinding),
      row("untie", .delete, "\(device)/token", unbindDevice),
      row("consent", .post, "\(device)/consent", consent),
      row("openapi", .get, "/openapi.json", openAPI),
    ]
  }

  private nonisolated var partner: [Endpoint] {
    let oauth = "/api/v1/oauth"
    return [
      row("link", .post, "\(oauth)/authorize", link),
      row("token", .post, "\(oauth)/token", redeem),
      row("refresh", .patch, "\(oauth)/token", refresh),
      row("user", .get, "\(oauth)/user", user),
      row("profile", .post, "\(oauth)/get-profile", requestProfile),
      row("status", .get, "\(oauth)/get-profile/status", profileStatus),
      row("createUser", .post, "\(oauth)/user", createUser),
      row("updateUser", .put, "\(oauth)/user", updateUser),
    ]
  }

  private nonisolated var openID: [Endpoint] {
    [
      row("discovery", .get, "/.well-known/openid-configuration", discovery),
      row("jwks", .get, "/api/v1/oidc/jwks", jwks),
      row("openid", .get, "/openid", openIDPage),
      row("openidToken", .post, "/api/v1/oidc/token", openIDToken),
      row("userinfo", .get, "/api/v1/oidc/userinfo", userinfo),
    ]
  }

  private nonisolated var pages: [Endpoint] {
    [
      row("page", .get, "/login", loginPage),
      row("login", .post, "/login", login),
      row("decision", .post, "/consent", decide),
      row("me", .get, "/me", ownPage),
      row("me", .post, "/me", changeOwn),
    ]
  }

  package nonisolated var controls: [Endpoint] {
    [
      control("settings", .get, readSettings),
      control("settings", .post, changeSettings),
      control("settings", .delete, resetSettings),
      control("people", .get, listPeople),
      control("people/{username}", .post, changePerson),
      control("accounts", .get, listDeviceBindings),
      control("consents", .get, listConsents),
      control("tokens", .get, listTokens),
      control("tokens", .post, issueToken),
      control("expireTokens", .post, expireTokens),
      control("revokeAll", .post, revokeAll),
      control("unlock", .post, unlock),
      control("requests", .get, listRequests),
      control("requests/{id}", .post, settleRequest),
      control("logout", .post, logOut),
      control("revocations", .get, listRevocations),
    ]
  }

  package nonisolated func links(base: String) -> [Link] {
    let here = base + Self.path
    return [
      Link("Profile requests and log-out", "\(here)/me"),
      Link("OpenAPI description of the SDK protocol", "\(here)/openapi.json"),
      Link("Discovery document", "\(here)/.well-known/openid-configuration"),
    ]
  }

  private nonisolated func row(
    _ name: String, _ method: Endpoint.Method, _ path: String,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("freedomid.\(name)", method, Self.path + path, handle: handle)
  }

  private nonisolated func control(
    _ path: String, _ method: Endpoint.Method,
    _ handle: @escaping @Sendable (EndpointCall) async -> Reply
  ) -> Endpoint {
    Endpoint("freedomid.\(path)", method, "/_control\(Self.path)/\(path)", handle: handle)
  }
}
