import FoundationEssentials

/// One strong authentication of a customer, with its limits, counters and decision.
///
/// It reads no clock: callers pass the time. Its counters are stored nowhere else.
struct ScaEvent: Sendable {
  /// Lifetimes in seconds, and limits.
  struct Terms: Sendable, Hashable {
    var eventSeconds: Int
    var challengeSeconds: Int
    var coolDownSeconds: Int
    var allowableChallenges: Int
    var allowableAttempts: Int
  }

  /// A challenge that was sent to the customer and waits for a response.
  struct Challenge: Sendable, Hashable {
    let id: String
    let verification: SCAVerification
    var expires: Date
    /// The code, for the kinds of verification that send one.
    let code: String?
    let returnURL: ReturnURL?
  }

  enum State: Sendable, Hashable {
    /// Undecided. Any other state may follow.
    case pending(Challenge?)
    /// Approved. The event permits its operation until that was performed.
    case verified(isUsed: Bool)
    /// The customer denied the operation.
    case rejected
    /// All attempts were used without success.
    case failed
  }

  /// Whether the value of an attempt was right.
  enum Attempt: Sendable { case right, wrong }

  /// The names of the counters in requests and responses.
  static let counters = [
    "currentChallenges", "allowableChallenges", "currentAttempts", "allowableAttempts",
  ]

  let id: String
  let walletOperationID: String
  let user: User
  /// The operation that the event permits once it is verified; nil if a test opened the event.
  let operation: WalletRequestOperation?
  /// The verifications that the customer may use; empty: any.
  let available: [SCAVerification]
  let created: Date
  var expires: Date
  var terms: Terms
  var currentChallenges = 0
  var currentAttempts = 0
  var coolDownEnds: Date?
  private(set) var state = State.pending(nil)

  init(
    id: String, walletOperationID: String, user: User, operation: WalletRequestOperation?,
    available: [SCAVerification], terms: Terms, now: Date
  ) {
    self.id = id
    self.walletOperationID = walletOperationID
    self.user = user
    self.operation = operation
    self.available = available
    self.terms = terms
    created = now
    expires = now.addingTimeInterval(Double(terms.eventSeconds))
  }

  /// Returns the challenge that waits for a response and has not expired.
  func openChallenge(at now: Date) -> Challenge? {
    guard case .pending(let challenge?) = state, min(challenge.expires, expires) > now else {
      return nil
    }
    return challenge
  }

  /// Resets the counter of challenges if the cool-down has ended.
  mutating func pass(_ now: Date) {
    guard let end = coolDownEnds, end <= now else { return }
    coolDownEnds = nil
    currentChallenges = 0
  }

  /// Starts a new challenge, which replaces the open one.
  ///
  /// The first challenge over the limit starts the cool-down, until whose end all are refused.
  mutating func send(
    _ verification: SCAVerification, id: String, code: String?, returnURL: ReturnURL?, now: Date
  ) throws(WalletRefusal) -> Challenge {
    pass(now)
    try check(verification, now)
    if let end = coolDownEnds { throw Self.limit(until: end, now) }
    guard currentChallenges < terms.allowableChallenges else {
      let end = now.addingTimeInterval(Double(terms.coolDownSeconds))
      coolDownEnds = end
      throw Self.limit(until: end, now)
    }
    currentChallenges += 1
    let challenge = Challenge(
      id: id, verification: verification,
      expires: min(expires, now.addingTimeInterval(Double(terms.challengeSeconds))), code: code,
      returnURL: returnURL)
    state = .pending(challenge)
    return challenge
  }

  /// Checks a value. Each attempt counts, right or wrong.
  mutating func attempt(
    _ verification: SCAVerification, now: Date, isRight: (Challenge) -> Bool
  ) throws(WalletRefusal) -> Attempt {
    try check(verification, now)
    guard let challenge = openChallenge(at: now), challenge.verification == verification else {
      throw WalletRefusal(409, "CHALLENGE_REQUIRED", "no challenge of this verification is open")
    }
    guard ![.push, .redirect].contains(verification.kind) else {
      throw .invalid("this verification does not take a value")
    }
    currentAttempts += 1
    if isRight(challenge) {
      state = .verified(isUsed: false)
      return .right
    }
    if currentAttempts >= terms.allowableAttempts { state = .failed }
    return .wrong
  }

  /// Decides a push or redirect challenge; returns nil if no such challenge is open.
  mutating func decide(approve: Bool, now: Date) -> Challenge? {
    guard let challenge = openChallenge(at: now),
      [.push, .redirect].contains(challenge.verification.kind)
    else { return nil }
    state = approve ? .verified(isUsed: false) : .rejected
    return challenge
  }

  /// Uses the approval for the operation that it was given for. This works once.
  mutating func redeem(
    for operation: WalletRequestOperation, _ proof: ScaProof, now: Date
  ) throws(WalletRefusal) {
    guard proof.walletOperationID == walletOperationID else {
      throw .mismatch("walletOperationId does not match the event")
    }
    guard case .verified(let isUsed) = state else { throw .mismatch("the event is not verified") }
    guard !isUsed else { throw .mismatch("the approval of this event was already used") }
    guard expires > now else { throw .mismatch("the event has expired") }
    guard let known = self.operation, known.digest == operation.digest else {
      throw .mismatch("the operation differs from the approved one")
    }
    guard known.wants(proof.form) else {
      throw .mismatch("the scaDetails are in the wrong place (header or body)")
    }
    state = .verified(isUsed: true)
  }

  mutating func expireChallenge(_ now: Date) {
    guard case .pending(var challenge?) = state else { return }
    challenge.expires = now
    state = .pending(challenge)
  }

  private func check(_ verification: SCAVerification, _ now: Date) throws(WalletRefusal) {
    switch state {
    case .verified, .rejected:
      throw WalletRefusal(409, "EVENT_COMPLETED", "the event is completed")
    case .failed:
      throw WalletRefusal(422, "ATTEMPTS_EXHAUSTED", "this event has no attempts left")
    case .pending:
      guard expires > now else {
        throw WalletRefusal(410, "EVENT_EXPIRED", "the event has expired")
      }
    }
    guard available.isEmpty || available.contains(verification),
      verification.isAvailable(to: user)
    else {
      throw WalletRefusal(
        400, "VERIFICATION_NOT_AVAILABLE", "\(verification.name) is not available here")
    }
  }

  private static func limit(until end: Date, _ now: Date) -> WalletRefusal {
    WalletRefusal(
      429, "CHALLENGE_LIMIT", "too many challenges",
      retryAfter: Int(end.timeIntervalSince(now).rounded(.up)))
  }
}

extension WalletRefusal {
  static func mismatch(_ message: String) -> WalletRefusal {
    WalletRefusal(403, "SCA_MISMATCH", message)
  }
}
