import FoundationEssentials

/// People on the log-in pages, and in whose browser somebody stays logged in, as one value.
struct GoPayVisits: Sendable {
  struct Visit: Sendable, Hashable {
    let request: GoPayLoginRequest
    /// Stands in the form of this visit and nowhere else.
    let csrf: String
    var stage: Phase
    /// Wrong codes and PINs.
    var wrong = 0
  }

  enum Phase: Sendable, Hashable {
    /// Whoever is logged in here already is asked for nothing but their consent.
    case known(GoPayPerson)
    case phone
    case otp(phone: String, code: String, until: Date)
    case pin(GoPayPerson)
    case name(phone: String)
  }

  /// What a form led to.
  enum Outcome: Sendable, Hashable {
    /// The page of the visit's stage, with what was wrong.
    case page(problem: String?)
    /// Send this code, then the page.
    case send(code: String, phone: String)
    /// Somebody new is to get an account, and is then logged in.
    case signUp(phone: String, name: String)
    case loggedIn(GoPayPerson)
    /// Back to the app, without a code.
    case back(error: String, description: String)
    case aborted
  }

  /// Seconds a person has for the pages.
  private static let seconds = 900.0
  /// Wrong codes and PINs that end a visit.
  static let attempts = 5

  private let mint: TokenMint
  private var visits = ExpiringTable<Visit>()
  private var sessions = ExpiringTable<GoPayPerson>()

  init(mint: TokenMint) {
    self.mint = mint
  }

  mutating func begin(_ request: GoPayLoginRequest, session: String?, now: Date) -> String {
    let id = mint.token("tx")
    let person = session.flatMap { sessions.value($0, now: now) }
    let visit = Visit(
      request: request, csrf: mint.token("cs"), stage: person.map { .known($0) } ?? .phone)
    visits.insert(visit, for: id, until: now.addingTimeInterval(Self.seconds), now: now)
    return id
  }

  func visit(_ id: String?, now: Date) -> Visit? { id.flatMap { visits.value($0, now: now) } }

  /// A page leads back once.
  mutating func end(_ id: String) { visits.remove(id) }

  /// - Returns: What the browser shows from now on in place of phone, code and PIN.
  mutating func remember(_ person: GoPayPerson, seconds: Int, now: Date) -> String {
    let session = mint.token("gs")
    sessions.insert(
      person, for: session, until: now.addingTimeInterval(Double(seconds)), now: now)
    return session
  }

  /// Takes a form that belongs to this visit.
  ///
  /// - Parameter find: Who has a phone number.
  mutating func take(
    _ form: Form, of id: String, otpSeconds: Int, now: Date, find: (String) -> GoPayPerson?
  ) -> Outcome {
    guard let visit = visit(id, now: now) else { return .page(problem: nil) }
    switch form["action"] {
    case "cancel": return .aborted
    case "deny": return .back(error: "access_denied", description: "the person declined")
    case "other":
      visits.update(id) { $0.stage = .phone }
      return .page(problem: nil)
    default: break
    }
    switch visit.stage {
    case .known(let person): return .loggedIn(person)
    case .phone:
      guard let phone = form["phone"]?.typedPhone else {
        return .page(problem: "That is no phone number like +447700900123.")
      }
      return send(to: phone, id, otpSeconds, now)
    case .otp(let phone, let code, let until):
      if form["action"] == "resend" { return send(to: phone, id, otpSeconds, now) }
      guard form["otp"] == code, until > now else { return wrong(id, "The code is wrong.") }
      return proven(phone, id, find(phone))
    case .pin(let person):
      guard form["pin"] == person.pin else { return wrong(id, "The PIN is wrong.") }
      return .loggedIn(person)
    case .name(let phone):
      guard let name = form["name"], name.utf8.count <= 128, name.contains(where: \.isLetter)
      else { return .page(problem: "Please type a name.") }
      return .signUp(phone: phone, name: name)
    }
  }

  private mutating func send(
    to phone: String, _ id: String, _ seconds: Int, _ now: Date
  ) -> Outcome {
    let code = mint.digits(6)
    let until = now.addingTimeInterval(Double(seconds))
    visits.update(id) { $0.stage = .otp(phone: phone, code: code, until: until) }
    return .send(code: code, phone: phone)
  }

  /// Goes on from the right code.
  private mutating func proven(
    _ phone: String, _ id: String, _ person: GoPayPerson?
  ) -> Outcome {
    guard let person else {
      visits.update(id) { $0.stage = .name(phone: phone) }
      return .page(problem: nil)
    }
    guard person.pin != nil else { return .loggedIn(person) }
    visits.update(id) { $0.stage = .pin(person) }
    return .page(problem: nil)
  }

  private mutating func wrong(_ id: String, _ problem: String) -> Outcome {
    visits.update(id) { $0.wrong += 1 }
    guard let wrong = visits.value(id, now: .distantPast)?.wrong, wrong < Self.attempts else {
      return .back(error: "too_many_attempts", description: "too many wrong codes")
    }
    return .page(problem: problem)
  }
}
