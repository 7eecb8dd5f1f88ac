import FoundationEssentials

extension FreedomIDBackend {
  /// Returns the page for a visit's stage.
  func page(of id: String, problem: String? = nil) -> Reply {
    guard let visit = visits.visit(id, now: context.clock.now()) else {
      return context.pages.expired()
    }
    switch (visit.stage, visit.purpose) {
    case (.signIn, _), (.code, _): return loginPage(visit, id, problem)
    case (.signedIn(let person, _), .own): return ownPage(person, visit, id)
    case (.signedIn(let person, _), .link(let link, _)):
      return consentPage(person, link.grants, visit, id)
    case (.signedIn(let person, _), .openID(let request)):
      return consentPage(person, request.scope, visit, id)
    }
  }

  private func loginPage(
    _ visit: FreedomVisits.Visit, _ id: String, _ problem: String?
  ) -> Reply {
    var values: [String: Any] = [
      "action": "\(Self.path)/login", "transaction": id, "csrf": visit.csrf,
      "people": ledger.people.map(\.row),
    ]
    values["problem"] = problem.map { ["text": $0] }
    if visit.purpose != .own { values["client"] = ["name": FreedomPartner.name] }
    if case .code(let challenge) = visit.stage {
      values["code"] = ["to": challenge.members["masked_target"]?.text ?? ""]
    } else {
      values["name"] = [String: Any]()
    }
    return context.pages.render("freedomLogin", values, status: problem == nil ? 200 : 403)
  }

  private func consentPage(
    _ person: String, _ words: [String], _ visit: FreedomVisits.Visit, _ id: String
  ) -> Reply {
    context.pages.render(
      "consent",
      [
        "action": "\(Self.path)/consent", "transaction": id, "csrf": visit.csrf,
        "client": FreedomPartner.name, "user": ledger.person(person)?.displayName ?? "",
        "scope": words.map { ["name": $0, "meaning": ""] },
      ])
  }

  private func ownPage(
    _ person: String, _ visit: FreedomVisits.Visit, _ id: String
  ) -> Reply {
    let waiting = ledger.waiting(for: person, now: context.clock.now())
    return context.pages.render(
      "freedomOwn",
      [
        "action": "\(Self.path)/me", "transaction": id, "csrf": visit.csrf,
        "client": FreedomPartner.name, "user": ledger.person(person)?.displayName ?? "",
        "requests": waiting.map { ["key": $0.key, "grants": $0.grants.joined(separator: ", ")] },
      ])
  }

  /// Handles the own page's form: `accept` or `reject` with a request's key, or `logout`.
  func changeOwn(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    guard let form = try? call.postedForm(), let (id, visit) = visits.visit(form, now: now),
      case .own = visit.purpose, case .signedIn(let person, _) = visit.stage
    else { return context.pages.expired() }
    if form["action"] == "logout" {
      visits.end(id)
      _ = await endPartnerTokens { $0.person == person }
      return context.pages.message(
        title: "You are logged out", text: "You can close this window.", status: 200)
    }
    let decisions: [String: FreedomRequest.State] = ["accept": .completed, "reject": .rejected]
    for (name, state) in decisions {
      guard let key = form[name],
        ledger.waiting(for: person, now: now).contains(where: { $0.key == key })
      else { continue }
      _ = ledger.setState(key, state, settings, now: now)
    }
    return page(of: id)
  }
}

extension FreedomIDUser {
  fileprivate var displayName: String {
    let names = [profile.firstname, profile.lastname].compactMap(\.self)
    return names.isEmpty ? username : names.joined(separator: " ")
  }

  fileprivate var row: [String: String] {
    [
      "name": displayName, "phone": profile.phone ?? "", "email": profile.email ?? "",
      "password": password ?? "none: code by SMS", "twoFactor": twoFactor?.rawValue ?? "off",
    ]
  }
}
