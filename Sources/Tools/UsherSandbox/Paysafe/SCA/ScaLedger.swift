import FoundationEssentials

/// Every event there is, and what the customers' authenticators know, as one value.
///
/// Somebody else's event is not found.
struct ScaLedger: Sendable {
  /// A challenge as it comes over the wire.
  struct ChallengeRequest: Sendable, Hashable {
    var walletOperationID: String
    var verification: Verification
    var language: String?
    var returnURL: ReturnURL?
  }

  /// An attempt as it comes over the wire.
  struct AttemptRequest: Sendable, Hashable {
    var walletOperationID: String
    var verification: Verification
    var value: String
  }

  /// Events are remembered long beyond their time, so that one that expired is told as such.
  private static let memory = 86_400.0 * 30

  private let mint: TokenMint
  private var events = ExpiringTable<ScaEvent>()
  private var authenticators: [String: TOTP] = [:]
  /// The last step of each authenticator that was taken: no code is good twice (RFC 6238 §5.2).
  private var lastSteps: [String: Int] = [:]

  init(mint: TokenMint) {
    self.mint = mint
  }

  mutating func open(
    for user: User, _ operation: WalletOperation?, walletOperationID: String? = nil,
    available: [Verification], terms: ScaEvent.Terms, now: Date
  ) -> ScaEvent {
    let event = ScaEvent(
      id: mint.token("evt"), walletOperationID: walletOperationID ?? mint.token("wop"),
      user: user, operation: operation, available: available, terms: terms, now: now)
    events.insert(
      event, for: event.id, until: event.expires.addingTimeInterval(Self.memory), now: now)
    return event
  }

  /// All of them, oldest first, each as it is now.
  func all(_ now: Date) -> [ScaEvent] {
    events.values.map { event in
      var event = event
      event.pass(now)
      return event
    }
  }

  /// - Parameter user: Whose it has to be; nil for a test, which may see them all.
  func event(_ id: String?, of user: User?, now: Date) throws(WalletRefusal) -> ScaEvent {
    guard let id, var event = events.value(id, now: now), user == nil || event.user == user else {
      throw WalletRefusal(404, "SCA_EVENT_NOT_FOUND", "there is no such event")
    }
    event.pass(now)
    return event
  }

  /// The event whose open challenge has this id, for the pages.
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
      throw .invalid("walletOperationId is not the event's")
    }
    defer { events.update(event.id) { $0 = event } }
    let sendsCode = [.sms, .email].contains(request.verification.kind)
    let challenge = try event.send(
      request.verification, id: mint.token("chl"), code: sendsCode ? mint.digits(6) : nil,
      returnURL: request.returnURL, now: now)
    return (event, challenge)
  }

  mutating func attempt(
    _ id: String?, of user: User, _ request: AttemptRequest, now: Date
  ) throws(WalletRefusal) -> (event: ScaEvent, attempt: ScaEvent.Attempt) {
    var event = try event(id, of: user, now: now)
    guard event.walletOperationID == request.walletOperationID else {
      throw .invalid("walletOperationId is not the event's")
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

  /// Nil where nothing waits for a decision.
  mutating func decide(
    _ id: String, approve: Bool, now: Date
  ) -> (event: ScaEvent, challenge: ScaEvent.Challenge)? {
    guard var event = events.value(id, now: now),
      let challenge = event.decide(approve: approve, now: now)
    else { return nil }
    events.update(id) { $0 = event }
    return (event, challenge)
  }

  /// Permits an operation, once.
  mutating func redeem(
    _ proof: ScaProof, of user: User, for operation: WalletOperation, now: Date
  ) throws(WalletRefusal) {
    guard var event = try? event(proof.eventID, of: user, now: now) else {
      throw .mismatch("there is no such event")
    }
    try event.redeem(for: operation, proof, now: now)
    events.update(event.id) { $0 = event }
  }

  /// The person's authenticator app, set up when it is first asked for.
  mutating func authenticator(of user: User) -> TOTP {
    if let known = authenticators[user.sub] { return known }
    let authenticator = TOTP(secret: mint.secret(20))
    authenticators[user.sub] = authenticator
    return authenticator
  }
}
