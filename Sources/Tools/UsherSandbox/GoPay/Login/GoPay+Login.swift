import FoundationEssentials

extension GoPayBackend {
  private static let cookie = "gopay_session"

  /// Handles `GET /v1.0/get-auth-code`, which the browser opens.
  func authCodePage(_ call: EndpointCall) async -> Reply {
    let form: Form
    let redirectURL: String
    do {
      form = try call.queryForm()
      redirectURL = try GoPayLoginRequest.redirectURL(form, settings)
    } catch {
      return context.pages.failure(error)
    }
    do {
      let request = try GoPayLoginRequest(form, redirectURL: redirectURL)
      let id = visits.begin(
        request, session: call.cookie(Self.cookie), now: context.clock.now())
      return page(of: id)
    } catch {
      return back(
        to: redirectURL, state: form["state"],
        ["errorCode": .string(error.error), "errorDesc": .string(error.description)])
    }
  }

  /// Handles the form of a log-in page; shows the next page or redirects to the app.
  func login(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let id = form["transaction"],
      let visit = visits.visit(id, now: now), visit.csrf == form["csrf"]
    else { return context.pages.expired() }
    let outcome = visits.handle(form, of: id, otpSeconds: settings.otpSeconds, now: now) {
      ledger.person(phone: $0)
    }
    switch outcome {
    case .page(let problem): return page(of: id, problem: problem)
    case .send(let code, let phone):
      let reply = page(of: id)
      await send(code, to: phone)
      return reply
    case .signUp(let phone, let name):
      return loggedIn(ledger.signUp(phone: phone, name: name, now: now), id, visit.request, now)
    case .loggedIn(let person):
      return loggedIn(person, id, visit.request, now)
    case .back(let error, let description):
      visits.end(id)
      return back(
        to: visit.request.redirectURL, state: visit.request.state,
        ["errorCode": .string(error), "errorDesc": .string(description)])
    case .aborted:
      visits.end(id)
      return back(
        to: visit.request.redirectURL, state: visit.request.state, ["result": "abort"])
    }
  }

  private func loggedIn(
    _ person: GoPayPerson, _ id: String, _ request: GoPayLoginRequest, _ now: Date
  ) -> Reply {
    visits.end(id)
    guard !settings.isClosed(person) else {
      return back(
        to: request.redirectURL, state: request.state,
        ["errorCode": "account_closed", "errorDesc": "the account is closed"])
    }
    let code = ledger.issueCode(person, .login, seconds: settings.authCodeSeconds, now: now)
    var reply = back(
      to: request.redirectURL, state: request.state,
      ["authCode": .string(code), "success": true])
    if settings.sessionSeconds > 0 {
      let session = visits.remember(person, seconds: settings.sessionSeconds, now: now)
      reply.headers["Set-Cookie"] =
        "\(Self.cookie)=\(session); Path=\(Self.path)/snap; HttpOnly; SameSite=Lax"
    }
    return reply
  }

  /// Redirects to the app, with the overrides from the settings.
  private func back(to url: String, state: String?, _ parameters: [String: JSON]) -> Reply {
    var parameters = parameters
    parameters["state"] = state.map { .string($0) }
    return .redirect(
      to: url, adding: parameters.applying(overrides: settings.loginReply),
      error: parameters["errorCode"]?.text)
  }

  private func send(_ code: String, to phone: String) async {
    await context.outbox.post(
      Message(
        provider: "gopay", channel: .sms, to: phone,
        text: "\(code) is your GoPay code. Do not share it.", code: code))
  }

  private func page(of id: String, problem: String? = nil) -> Reply {
    guard let visit = visits.visit(id, now: context.clock.now()) else {
      return context.pages.expired()
    }
    var values: [String: Any] = [
      "action": "\(Self.path)/snap/login", "transaction": id, "csrf": visit.csrf,
      "client": GoPayPartner.name, "lang": visit.request.language.rawValue,
      "people": ledger.people.map {
        ["name": $0.name, "phone": $0.phone, "pin": $0.pin ?? "none"]
      },
    ]
    values["problem"] = problem.map { ["text": $0] }
    switch visit.stage {
    case .known(let person): values["known"] = ["name": person.name]
    case .phone: values["phone"] = [String: Any]()
    case .otp(let phone, _, _): values["otp"] = ["to": phone]
    case .pin: values["pin"] = [String: Any]()
    case .name: values["name"] = [String: Any]()
    }
    return context.pages.render("gopayLogin", values, status: problem == nil ? 200 : 403)
  }
}

extension EndpointCall {
  /// The value of a cookie; nil if the request does not have it.
  func cookie(_ name: String) -> String? {
    headers["cookie"]?.split(separator: ";").lazy
      .map { $0.drop { $0 == " " } }
      .first { $0.hasPrefix("\(name)=") }
      .map { String($0.dropFirst(name.count + 1)) }
  }
}
