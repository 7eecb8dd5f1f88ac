import FoundationEssentials

/// The pages of the sites and the forms on them.
extension BSABackend {
  func sitePage(_ call: EndpointCall) async -> Reply {
    guard let query = try? call.queryForm(), let site = BSAClient(site: query["client"]) else {
      return context.pages.expired()
    }
    return page(of: site)
  }

  func beginAtSite(_ call: EndpointCall) async -> Reply {
    guard let form = try? call.postedForm(), let site = BSAClient(site: form["client"]),
      let trigger = form["action"].flatMap(BSASignIn.Trigger.init)
    else { return context.pages.expired() }
    do {
      let signIn = try begin(trigger, at: site, form["userKey"], number: form["number"])
      return .redirect(to: signIn.page)
    } catch {
      return page(of: site, problem: error, userKey: form["userKey"])
    }
  }

  /// Begins a sign-in as a person does at a site.
  ///
  /// - Throws: 2002 if a parameter is missing, 2008, 5006 to 5008, 3201 if the app is not linked to
  ///   the site, 2010, and 3005, 3006 or 5026 for a number.
  func begin(
    _ trigger: BSASignIn.Trigger, at site: BSAClient, _ userKey: String?, number: String?
  ) throws(BSARefusal) -> BSASignIn {
    let now = context.clock.now()
    if trigger == .qr { return try signIns.begin(.qr, at: site, nil, settings, now: now) }
    guard let userKey else { throw .parameter("the user key", "is missing") }
    guard site == .acme else { throw .notLinked }
    let person = try person(userKey)
    try person.checkActive()
    // This check must precede that of the number, which uses it up.
    guard !signIns.isBusy(userKey, now: now) else { throw .inProgress }
    switch trigger {
    case .push, .qr: break
    case .otp: try loginNumbers.redeem(try Self.typed(number), of: userKey, now: now)
    case .totp: try takeTOTP(try Self.typed(number), of: person, now)
    }
    return try signIns.begin(trigger, at: site, userKey, settings, now: now)
  }

  private static func typed(_ number: String?) throws(BSARefusal) -> String {
    guard let number = number?.filter({ !$0.isWhitespace }), !number.isEmpty else {
      throw .parameter("the number", "is missing")
    }
    return number
  }

  /// Accepts a TOTP number of this minute, the one before or the one after, if it is later than the
  /// last accepted one. Each attempt counts towards the daily limit.
  private func takeTOTP(
    _ number: String, of person: MemberRegistration, _ now: Date
  ) throws(BSARefusal) {
    guard totpTries.count(person.userKey, now: now) < settings.totpPerDay else {
      throw .totpLimit
    }
    totpTries.add(person.userKey, now: now)
    guard let step = person.device.totp.step(of: number, at: now),
      person.device.lastStep.map({ step > $0 }) ?? true
    else { throw .wrongNumber }
    members.update(person.userKey) { $0.device.lastStep = step }
  }

  func signInPage(_ call: EndpointCall) async -> Reply {
    guard let signIn = visited(call) else { return context.pages.expired() }
    return page(of: signIn)
  }

  func leaveSite(_ call: EndpointCall) async -> Reply {
    guard let form = try? call.postedForm(), form["action"] == "cancel",
      let signIn = visited(call)
    else { return context.pages.expired() }
    _ = signIns.end(signIn.id, as: .cancelled, now: context.clock.now())
    return .redirect(to: signIn.page)
  }

  private func visited(_ call: EndpointCall) -> BSASignIn? {
    signIns.signIn(call.parameters["signIn"] ?? "", now: context.clock.now())
  }

  private func page(
    of site: BSAClient, problem: BSARefusal? = nil, userKey: String? = nil
  ) -> Reply {
    var values: [String: Any] = [
      "site": site.name, "client": site.rawValue, "action": "\(Self.path)/site",
      "userKey": userKey ?? "",
      "people": members.all.map { ["userKey": $0.userKey, "name": $0.name] },
    ]
    values["problem"] = problem.map { ["text": "\($0.message) (\($0.rtCode))"] }
    return context.pages.render("bsaSite", values, status: problem == nil ? 200 : 403)
  }

  private func page(of signIn: BSASignIn) -> Reply {
    let stage = signIn.stage
    var values: [String: Any] = [
      "site": signIn.site.name, "action": signIn.page, "state": stage.name,
      "again": "\(Self.path)/site?client=\(signIn.site.rawValue)",
    ]
    if stage.isLive { values["live"] = [String: Any]() }
    if stage == .waiting { values["qr"] = signIn.qrID.map { ["id": $0] } }
    if case .completed = stage {
      let userKey = signIn.userKey ?? ""
      values["person"] = ["name": members[userKey]?.name ?? "", "userKey": userKey]
    }
    return context.pages.render("bsaSignIn", values)
  }
}

extension BSAClient {
  /// Returns the site with a name, by default `acme`; nil if there is no such site.
  init?(site word: String?) {
    guard let client = BSAClient(rawValue: word ?? "acme"), client != .app else { return nil }
    self = client
  }

  func page(_ base: String) -> String {
    self == .acme
      ? "\(base)\(BSABackend.path)/site" : "\(base)\(BSABackend.path)/site?client=\(rawValue)"
  }
}

extension BSASignIn {
  /// The path of the page on which the person waits.
  fileprivate var page: String { "\(BSABackend.path)/site/\(id)" }
}
