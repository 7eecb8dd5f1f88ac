import FoundationEssentials

extension SCAVerification {
  /// The verification as JSON; `target` is present only if the verification has one.
  func json(for user: User, action: [String: JSON]? = nil) -> JSON {
    var members: [String: JSON] = ["method": .string(method.rawValue)]
    members["channel"] = channel.map { .string($0.rawValue) }
    members["target"] = target(of: user).map { .string($0) }
    members["action"] = action.map { .object($0) }
    return .object(members)
  }

  /// The length of the code that the customer types; nil if the verification has no code.
  fileprivate var digits: Int? {
    switch kind {
    case .sms, .email, .authenticator: 6
    case .pin, .password, .push, .redirect, nil: nil
    }
  }
}

extension ScaEvent.State {
  var status: String {
    switch self {
    case .pending: "PENDING"
    case .verified: "VERIFIED"
    case .rejected: "REJECTED"
    case .failed: "FAILED"
    }
  }

  var reason: String? {
    switch self {
    case .pending: nil
    case .verified: "CUSTOMER_VERIFIED"
    case .rejected: "CUSTOMER_REJECTED"
    case .failed: "ATTEMPTS_EXHAUSTED"
    }
  }
}

extension ScaEvent {
  /// The members that all responses about the event have.
  private var head: [String: JSON] {
    [
      "eventId": .string(id), "walletOperationId": .string(walletOperationID),
      "authenticationMode": "EMBEDDED",
    ]
  }

  /// The `scaDetails` that announce the event.
  var details: [String: JSON] {
    head.merging([
      "availableVerifications": .array(available.map { $0.json(for: user) }),
      "creationTime": created.timestamp, "expirationTime": expires.timestamp,
    ]) { $1 }
  }

  var countersJSON: [String: JSON] {
    [
      "currentChallenges": .integer(currentChallenges),
      "allowableChallenges": .integer(terms.allowableChallenges),
      "currentAttempts": .integer(currentAttempts),
      "allowableAttempts": .integer(terms.allowableAttempts),
    ]
  }

  /// Returns the response to a challenge request, without the counters.
  ///
  /// - Parameter action: What the customer has to open.
  func json(of challenge: Challenge, action: [String: JSON]?, now: Date) -> [String: JSON] {
    var members = head
    members["verification"] = challenge.verification.json(for: user, action: action)
    members["creationTime"] = now.timestamp
    members["expirationTime"] = challenge.expires.timestamp
    members["digits"] = challenge.verification.digits.map { .integer($0) }
    return members
  }

  /// Returns the response to an attempt, without the counters.
  func json(of attempt: Attempt, _ verification: SCAVerification, id: String) -> [String: JSON] {
    var members = head
    members["id"] = .string(id)
    members["verification"] = verification.json(for: user)
    switch attempt {
    case .right: members["status"] = "VERIFIED"
    case .wrong: members["status"] = "FAILED"
    }
    members["statusReason"] = .string(state.reason ?? "INVALID_VALUE")
    return members
  }

  /// Returns the state of the event, without the counters.
  ///
  /// - Parameter action: What the customer has to open for the open challenge.
  func json(action: [String: JSON]?, now: Date) -> [String: JSON] {
    var members = details
    members["status"] = .string(state.status)
    members["statusReason"] = state.reason.map { .string($0) }
    if let challenge = openChallenge(at: now) {
      var open: [String: JSON] = [
        "verification": challenge.verification.json(for: user, action: action),
        "expirationTime": challenge.expires.timestamp,
      ]
      open["digits"] = challenge.verification.digits.map { .integer($0) }
      members["challenge"] = .object(open)
    }
    return members
  }
}
