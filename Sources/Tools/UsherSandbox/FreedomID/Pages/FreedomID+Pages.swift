import FoundationEssentials

extension FreedomIDBackend {
  /// Handles `GET /login?track_id=…`, to which an authorization link leads.
  func loginPage(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let track = (try? call.queryForm())?["track_id"],
      let link = ledger.links.value(track, now: now)
    else { return context.pages.expired() }
    return page(of: visits.begin(.link(link, track: track), now: now))
  }

  /// Handles `GET /me`.
  func ownPage(_ call: EndpointCall) async -> Reply {
    page(of: visits.begin(.own, now: context.clock.now()))
  }

  /// Handles the form of a log-in page.
  func login(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let (id, visit) = visits.visit(form, now: now) else {
      return context.pages.expired()
    }
    if form["action"] == "cancel" { return denied(visit, id) }
    do {
      switch visit.stage {
      case .signIn: return try await signIn(form, id, now)
      case .code(let challenge): return try await handleCode(form, challenge, id, now)
      case .signedIn: return context.pages.expired()
      }
    } catch let refusal as FreedomRefusal {
      return page(of: id, problem: refusal.sentence)
    } catch {
      return context.pages.expired()
    }
  }

  /// Begins a log-in. Without a password, a phone number gets an SMS code.
  private func signIn(_ form: Form, _ id: String, _ now: Date) async throws -> Reply {
    guard let name = form["name"].flatMap(LoginIdentifier.init(typed:)) else {
      return page(of: id, problem: "Enter a phone number like +77011234567 or an e-mail address.")
    }
    let person = ledger.person(knownAs: name)
    if form["password"] == nil, case .phone = name {
      let challenge = try logins.otp(name, person, at: id, settings, now: now)
      return await askForCode(challenge, id)
    }
    return await showOutcome(
      try logins.password(
        form["password"] ?? "", of: name, person, at: id, settings, now: now), id, now)
  }

  private func handleCode(
    _ form: Form, _ challenge: IssuedChallenge, _ id: String, _ now: Date
  ) async throws -> Reply {
    if form["action"] == "resend" {
      let (next, isNew) = try logins.resend(challenge.id, at: id, settings, now: now)
      return await askForCode(next, id, sending: isNew)
    }
    let ledger = ledger
    let outcome = try logins.verify(
      form["code"] ?? "", of: challenge.id, challenge.purpose, at: id, settings, now: now
    ) { ledger.person($0) }
    return await showOutcome(outcome, id, now)
  }

  private func showOutcome(
    _ outcome: FreedomLogins.Outcome, _ id: String, _ now: Date
  ) async -> Reply {
    switch outcome {
    case .twoFactor(let challenge): return await askForCode(challenge, id)
    case .loggedIn(let person):
      visits.move(id, to: .signedIn(person.id, at: now))
      return page(of: id)
    }
  }

  private func askForCode(
    _ challenge: IssuedChallenge, _ id: String, sending: Bool = true
  ) async -> Reply {
    visits.move(id, to: .code(challenge))
    if sending { await send(challenge) }
    return page(of: id)
  }

  /// Handles the decision on consent; redirects to the partner.
  func decide(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let (id, visit) = visits.visit(form, now: now),
      case .signedIn(let person, let time) = visit.stage
    else { return context.pages.expired() }
    switch (form["decision"], visit.purpose) {
    case ("deny", _): return denied(visit, id)
    case ("allow", .link(let link, let track)):
      visits.end(id)
      guard ledger.links.remove(track) != nil else { return context.pages.expired() }
      let code = ledger.issueCode(
        .partner(grants: link.grants), to: person, settings, now: now)
      return back(to: link.redirectURI, [settings.codeParameter: .string(code)])
    case ("allow", .openID(let request)):
      visits.end(id)
      let code = ledger.issueCode(
        .openID(request, authTime: time), to: person, settings, now: now)
      return back(
        to: request.redirectURI, ["code": .string(code), "state": .string(request.state)])
    case (_, .own), (_, .link), (_, .openID): return context.pages.expired()
    }
  }

  private func denied(_ visit: FreedomVisits.Visit, _ id: String) -> Reply {
    visits.end(id)
    switch visit.purpose {
    case .link(let link, let track):
      ledger.links.remove(track)
      return back(to: link.redirectURI, ["error_code": 100_102], error: "100102")
    case .openID(let request):
      return back(
        to: request.redirectURI,
        ["error": "access_denied", "state": .string(request.state)], error: "access_denied")
    case .own:
      return context.pages.message(
        title: "You are not signed in", text: "You can close this window.", status: 200)
    }
  }

  /// Redirects to the partner, with the overrides from the settings.
  func back(to url: String, _ parameters: [String: JSON], error: String? = nil) -> Reply {
    .redirect(to: url, adding: parameters.applying(overrides: settings.wayBack), error: error)
  }
}

extension FreedomRefusal {
  /// The error as a sentence for the user of a page.
  fileprivate var sentence: String {
    guard let retryAfter else { return "Error: \(message)." }
    return "Error: \(message). Try again in \(retryAfter) seconds."
  }
}
