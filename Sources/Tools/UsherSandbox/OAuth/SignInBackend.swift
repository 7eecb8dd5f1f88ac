/// A backend on whose pages a person signs in and consents, with the tokens that result.
protocol SignInBackend: Actor, Backend {
  var context: BackendContext { get }
  var clients: ClientRegistry { get }
  /// The path below which the forms of the pages are posted, as `login` and `consent`.
  nonisolated var path: String { get }
  var ledger: Ledger { get set }

  /// Answers the client with these parameters and those that the server adds.
  func authorizationResponse(
    to target: ResponseTarget, _ call: EndpointCall, _ parameters: [String: String]
  ) async -> Reply
}

extension SignInBackend {
  /// Handles the sign-in form; leads to the consent page.
  func login(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let id = form["transaction"],
      let transaction = try? ledger.transaction(id, csrf: form["csrf"], now: now)
    else { return context.pages.expired() }
    if form["action"] == "cancel", case .authorization(let request) = transaction.purpose {
      ledger.end(id)
      return await denied(request, call)
    }
    let user = context.users.signingIn(form["username"], password: form["password"])
    do {
      let signedIn = try ledger.signIn(id, user: user, userCode: form["user_code"], now: now)
      return consentPage(signedIn, id)
    } catch {
      guard let problem = error.sentence else { return context.pages.expired() }
      return loginPage(
        transaction.purpose, id, transaction.csrf, username: form["username"],
        userCode: form["user_code"], problem: problem)
    }
  }

  /// Handles the consent form; redirects to the client or, for a device, shows a final page.
  func consent(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let id = form["transaction"],
      let transaction = try? ledger.transaction(id, csrf: form["csrf"], now: now),
      case .consenting(let user, let authTime, let device) = transaction.stage,
      let decision = form["decision"], ["allow", "deny"].contains(decision)
    else { return context.pages.expired() }
    ledger.end(id)
    let allowed = decision == "allow"
    switch transaction.purpose {
    case .device:
      ledger.settleDevice(device ?? "", user: user, allowed: allowed, authTime: authTime)
      return context.pages.message(
        title: allowed ? "The device is signed in" : "You denied access",
        text: "You can close this window.", status: 200, error: allowed ? nil : "access_denied")
    case .authorization(let request):
      guard allowed else { return await denied(request, call) }
      let authorization = TokenAuthorization(
        clientID: request.client.id, user: user, scope: request.scope, nonce: request.nonce,
        authTime: authTime, accessType: request.accessType, prompt: request.prompt,
        resources: request.resources, claims: request.claims, keyThumbprint: request.keyThumbprint,
        grantID: request.grantID)
      let code = ledger.tokens.issueCode(
        for: authorization, redirectURI: request.redirectURI, challenge: request.challenge,
        now: now)
      return await authorizationResponse(to: request.target, call, ["code": code])
    }
  }

  /// Shows the page on which a user enters a device's code (RFC 8628 §3.3).
  func devicePage(_ call: EndpointCall) async -> Reply {
    let form = try? call.queryForm()
    let begun = ledger.begin(.device, now: context.clock.now())
    return loginPage(.device, begun.id, begun.csrf, userCode: form?["user_code"])
  }

  private func denied(_ request: AuthorizationRequest, _ call: EndpointCall) async -> Reply {
    await authorizationResponse(
      to: request.target, call,
      ["error": "access_denied", "error_description": "the person denied the request"])
  }

  func loginPage(
    _ purpose: Transaction.Purpose, _ id: String, _ csrf: String, username: String? = nil,
    userCode: String? = nil, problem: String? = nil
  ) -> Reply {
    var values: [String: Any] = [
      "action": "\(path)/login", "transaction": id, "csrf": csrf, "username": username ?? "",
      "userCode": userCode ?? "",
      "users": context.users.all.map { ["name": $0.username, "password": $0.password] },
    ]
    values["problem"] = problem.map { ["text": $0] }
    switch purpose {
    case .authorization(let request):
      values["client"] = request.client.name
      values["cancel"] = true
    case .device:
      values["client"] = "a device"
      values["device"] = true
    }
    return context.pages.render("login", values, status: problem == nil ? 200 : 403)
  }

  private func consentPage(_ transaction: Transaction, _ id: String) -> Reply {
    guard case .consenting(let user, _, let device) = transaction.stage,
      let (client, scope) = request(of: transaction, device)
    else { return context.pages.expired() }
    return context.pages.render(
      "consent",
      [
        "action": "\(path)/consent", "transaction": id, "csrf": transaction.csrf,
        "client": client, "user": user.name,
        "scope": scope.map { ["name": $0, "meaning": Scope.meanings[$0] ?? ""] },
      ])
  }

  private func request(
    of transaction: Transaction, _ device: String?
  ) -> (client: String, scope: [String])? {
    switch transaction.purpose {
    case .authorization(let request):
      return (request.client.name, request.scope)
    case .device:
      guard let device,
        let request = ledger.request(ofDevice: device, now: context.clock.now())
      else { return nil }
      return (clients.named(request.clientID)?.name ?? request.clientID, request.scope)
    }
  }

  /// Revokes all grants, for a control call.
  func revokeAll(_ call: EndpointCall) async -> Reply {
    ledger.tokens.revokeAll()
    return .json(["ok": true])
  }
}

extension Ledger.SignInFailure {
  /// The text on the login page; nil if the transaction has ended and cannot show a page.
  var sentence: String? {
    switch self {
    case .wrongPassword: "User name or password is wrong."
    case .wrongUserCode: "No device is waiting for this code."
    case .unknown, .tooManyAttempts: nil
    }
  }
}
