import FoundationEssentials

extension GoPayLedger {
  /// A code that a partner can redeem once for a linking token.
  struct AuthCode: Sendable, Hashable {
    enum Source: Sendable, Hashable {
      case login
      /// An app requested the code with a linking token, for this user.
      case token(userCorrelationID: String)
      /// A test issued the code.
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

  /// Seconds for which a code is remembered, redeemed or not.
  private static let memory = 86_400.0

  mutating func issueCode(
    _ person: GoPayPerson, _ source: AuthCode.Source, seconds: Int, now: Date
  ) -> String {
    let code = tokenGenerator.token("gac")
    codes.insert(
      AuthCode(
        id: nextID("cod"), person: person, source: source, issued: now,
        expires: now.addingTimeInterval(Double(seconds))),
      for: code, until: now.addingTimeInterval(max(Self.memory, Double(seconds))), now: now)
    return code
  }

  /// Redeems a code, once, for a long-term linking token.
  ///
  /// - Throws: `unknown` if the code is unknown, redeemed or expired; `closed` if the account is
  ///   closed.
  mutating func redeem(
    _ code: String, _ settings: GoPayBackendSettings, now: Date
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
