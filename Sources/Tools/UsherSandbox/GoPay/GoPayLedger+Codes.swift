import FoundationEssentials

extension GoPayLedger {
  /// What a partner redeems for a linking token, once.
  struct AuthCode: Sendable, Hashable {
    enum Source: Sendable, Hashable {
      case login
      /// Asked for with a linking token, and for whom.
      case token(userCorrelationID: String)
      /// By a test.
      case control
    }

    enum State: Sendable, Hashable {
      case waiting
      case redeemed(token: String)
    }

    let id: String
    let person: GoPayPerson
    let source: Source
    let issued: Date
    let expires: Date
    var state = State.waiting
  }

  /// Seconds that a code is remembered, redeemed or not.
  private static let memory = 86_400.0

  mutating func issueCode(
    _ person: GoPayPerson, _ source: AuthCode.Source, seconds: Int, now: Date
  ) -> String {
    let code = mint.token("gac")
    codes.insert(
      AuthCode(
        id: nextID("cod"), person: person, source: source, issued: now,
        expires: now.addingTimeInterval(Double(seconds))),
      for: code, until: now.addingTimeInterval(max(Self.memory, Double(seconds))), now: now)
    return code
  }

  /// A long-term linking token for a code, which is spent then.
  ///
  /// - Throws: `unknown` for a code that is spent or over, `closed`.
  mutating func redeem(
    _ code: String, _ settings: GoPaySettings, now: Date
  ) throws(Failure) -> (token: String, code: AuthCode) {
    guard let entry = codes.value(code, now: now), entry.state == .waiting, entry.expires > now
    else { throw .unknown }
    guard !settings.isClosed(entry.person) else { throw .closed }
    let token = link(entry.person, .long, settings, now: now)
    codes.update(code) { $0.state = .redeemed(token: token) }
    return (token, entry)
  }
}

extension GoPayLedger.AuthCode {
  func state(now: Date) -> String {
    switch state {
    case .redeemed: "redeemed"
    case .waiting: expires > now ? "waiting" : "expired"
    }
  }
}
