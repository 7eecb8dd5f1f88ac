import FoundationEssentials

/// All events and the customers' authenticators, as one value.
///
/// Events of other customers are reported as not found.
struct ScaLedger: Sendable {
  /// The parsed body of a challenge request.
  struct ChallengeRequest: Sendable, Hashable {
    var walletOperationID: String
    var verification: SCAVerification
    var language: String?
    var returnURL: ReturnURL?
  }

  /// The parsed body of an attempt.
  struct AttemptRequest: Sendable, Hashable {
    var walletOperationID: String
    var verification: SCAVerification
    var value: String
  }

  /// Seconds for which an expired event is remembered, to report it as expired, not unknown.
  private static let memory = 86_400.0 * 30

  private let tokenGenerator: TokenGenerator
  private var events = ExpiringTable<ScaEvent>()
  private var authenticators: [String: TOTP] = [:]
  /// The time step of the last code accepted from each authenticator; no code is accepted twice
  /// (RFC 6238 §5.2).
  private var lastSteps: [String: Int] = [:]

  init(tokenGenerator: TokenGenerator) {
    self.tokenGenerator = tokenGenerator
  }

  mutating func open(
    for user: User, _ operation: WalletRequestOperation?, id: String? = nil,
    walletOperationID: String? = nil, available: [SCAVerification], terms: ScaEvent.Terms, now: Date
  ) -> ScaEvent {
    let event = ScaEvent(
      id: id ?? tokenGenerator.token("evt"),
      walletOperationID: walletOperationID ?? tokenGenerator.token("wop"),
      user: user, operation: operation, available: available, terms: terms, now: now)
    events.insert(
      event, for: event.id, until: event.expires.addingTimeInterval(Self.memory), now: now)
    return event
  }

  /// Returns all events, oldest first, with counters reset if their cool-down has ended.
  func all(_ now: Date) -> [ScaEvent] {
    events.values.map { event in
      var event = event
      event.pass(now)
      return event
    }
  }

  /// Returns an event; throws if it is unknown or of another customer.
  ///
  /// - Parameter user: The customer who must own the event; nil for the control API, which sees
  ///   all.
  func event(_ id: String?, of user: User?, now: Date) throws(WalletRefusal) -> ScaEvent {
    guard let id, var event = events.value(id, now: now), user == nil || event.user == user else {
      throw WalletRefusal(404, "SCA_EVENT_NOT_FOUND", "there is no such event")
    }
    event.pass(now)
    return event
  }

  /// Returns the event whose open challenge has this id, for the approval pages.
  func event(ofChallenge id: String?, now: Date) -> ScaEvent? {
    guard let id else { return nil }
    let key = events.key { $0.openChallenge(at: now)?.id == id }
    return key.flatMap { events.value($0, now: now) }
  }

  mutating func change(_ id: String, _ change: (inout ScaEvent) -> Void) {
    events.update(id, change)
  }

  mutating func challenge(
    _ id: String?, of user: User, _ request: ChallengeRequest, now: Date
  ) throws(WalletRefusal) -> (event: ScaEvent, challenge: ScaEvent.Challenge) {
    var event = try event(id, of: user, now: now)
    guard event.walletOperationID == request.walletOperationID else {
      throw .invalid("walletOperationId does not match the event")
    }
    defer { events.update(event.id) { $0 = event } }
    let sendsCode = [.sms, .email].contains(request.verification.kind)
    let challenge = try event.send(
      request.verification, id: tokenGenerator.token("chl"),
      code: sendsCode ? tokenGenerator.digits(6) : nil,
      returnURL: request.returnURL, now: now)
    return (event, challenge)
  }

  mutating func attempt(
    _ id: String?, of user: User, _ request: AttemptRequest, now: Date
  ) throws(WalletRefusal) -> (event: ScaEvent, attempt: ScaEvent.Attempt) {
    var event = try event(id, of: user, now: now)
    guard event.walletOperationID == request.walletOperationID else {
      throw .invalid("walletOperationId does not match the event")
    }
    let step = authenticator(of: user).step(of: request.value, at: now)
    let lastStep = lastSteps[user.sub]
    let attempt = try event.attempt(request.verification, now: now) { challenge in
      switch challenge.verification.kind {
      case .sms, .email: challenge.code == request.value
      case .authenticator: step.map { $0 > lastStep ?? .min } ?? false
      case .pin: user.pin == request.value
      case .password: user.password == request.value
      case .push, .redirect, nil: false
      }
    }
    if attempt == .right, request.verification.kind == .authenticator {
      lastSteps[user.sub] = step
    }
    events.update(event.id) { $0 = event }
    return (event, attempt)
  }

  /// Decides a push or redirect challenge; returns nil if no such challenge is open.
  mutating func decide(
    _ id: String, approve: Bool, now: Date
  ) -> (event: ScaEvent, challenge: ScaEvent.Challenge)? {
    guard var event = events.value(id, now: now),
      let challenge = event.decide(approve: approve, now: now)
    else { return nil }
    events.update(id) { $0 = event }
    return (event, challenge)
  }

  /// Uses the approval for an operation. This works once.
  mutating func redeem(
    _ proof: ScaProof, of user: User, for operation: WalletRequestOperation, now: Date
  ) throws(WalletRefusal) {
    guard var event = try? event(proof.eventID, of: user, now: now) else {
      throw .mismatch("there is no such event")
    }
    try event.redeem(for: operation, proof, now: now)
    events.update(event.id) { $0 = event }
  }

  /// Returns the customer's authenticator app; the first call sets it up.
  mutating func authenticator(of user: User) -> TOTP {
    if let known = authenticators[user.sub] { return known }
    let authenticator = TOTP(secret: tokenGenerator.secret(20))
    authenticators[user.sub] = authenticator
    return authenticator
  }
}
