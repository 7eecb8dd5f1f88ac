import FoundationEssentials

/// The open log-in pages and the browser sessions, as one value.
struct GoPayVisits: Sendable {
  struct Visit: Sendable, Hashable {
    let request: GoPayLoginRequest
    /// The CSRF token, a hidden field in the form of this visit.
    let csrf: String
    var stage: Phase
    /// The number of wrong codes and PINs.
    var wrong = 0
  }

  enum Phase: Sendable, Hashable {
    /// The browser has a session of this person, so that only consent is missing.
    case known(GoPayPerson)
    case phone
    case otp(phone: String, code: String, until: Date)
    case pin(GoPayPerson)
    case name(phone: String)
  }

  /// The outcome of a form.
  enum Outcome: Sendable, Hashable {
    /// Show the page of the visit's stage, with the problem if there was one.
    case page(problem: String?)
    /// Send this code, then show the page.
    case send(code: String, phone: String)
    /// Create an account for a new person, who is then logged in.
    case signUp(phone: String, name: String)
    case loggedIn(GoPayPerson)
    /// Redirect to the app with an error.
    case back(error: String, description: String)
    case aborted
  }

  /// Seconds after which a visit expires.
  private static let seconds = 900.0
  /// The number of wrong codes and PINs that ends a visit.
  static let attempts = 5

  private let tokenGenerator: TokenGenerator
  private var visits = ExpiringTable<Visit>()
  private var sessions = ExpiringTable<GoPayPerson>()

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func begin(_ request: GoPayLoginRequest, session: String?, now: Date) -> String {
    let id = tokenGenerator.token("tx")
    let person = session.flatMap { sessions.value($0, now: now) }
    let visit = Visit(
      request: request, csrf: tokenGenerator.token("cs"), stage: person.map { .known($0) } ?? .phone
    )
    visits.insert(visit, for: id, until: now.addingTimeInterval(Self.seconds), now: now)
    return id
  }

  func visit(_ id: String?, now: Date) -> Visit? { id.flatMap { visits.value($0, now: now) } }

  /// Ends a visit, so that it redirects to the app only once.
  mutating func end(_ id: String) { visits.remove(id) }

  /// Starts a browser session, which replaces phone number, code and PIN.
  ///
  /// - Returns: The value of the session cookie.
  mutating func remember(_ person: GoPayPerson, seconds: Int, now: Date) -> String {
    let session = tokenGenerator.token("gs")
    sessions.insert(
      person, for: session, until: now.addingTimeInterval(Double(seconds)), now: now)
    return session
  }

  /// Processes a form of this visit.
  ///
  /// - Parameter find: Returns the person with a phone number.
  mutating func handle(
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
        return .page(problem: "Enter a phone number like +447700900123.")
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
      else { return .page(problem: "Enter a name.") }
      return .signUp(phone: phone, name: name)
    }
  }

  private mutating func send(
    to phone: String, _ id: String, _ seconds: Int, _ now: Date
  ) -> Outcome {
    let code = tokenGenerator.digits(6)
    let until = now.addingTimeInterval(Double(seconds))
    visits.update(id) { $0.stage = .otp(phone: phone, code: code, until: until) }
    return .send(code: code, phone: phone)
  }

  /// Continues after a right code.
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
