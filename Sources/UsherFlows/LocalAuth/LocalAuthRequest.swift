package import UsherCore

/// What is wanted of the person at this machine (seed, `startSimpleAuth`).
package struct LocalAuthRequest: Codable, Sendable, Equatable {
  package var localAuthType: LocalAuthType
  /// Shown to the person.
  package var reason: String
  /// Whether it fails when other fingers are enrolled than at the last success with a finger.
  package var checkDomainStateChanged: Bool
  /// Whether the passcode will do where a finger will not.
  package var usePasscodeWhenFailed: Bool
  /// Seconds within which an earlier success of the flow's client in the same way will do; nil: none
  /// will.
  package var goodForSeconds: Int?

  package init(
    _ type: LocalAuthType, reason: String, checkDomainStateChanged: Bool = false,
    usePasscodeWhenFailed: Bool = false, goodForSeconds: Int? = nil
  ) {
    localAuthType = type
    self.reason = reason
    self.checkDomainStateChanged = checkDomainStateChanged
    self.usePasscodeWhenFailed = usePasscodeWhenFailed
    self.goodForSeconds = goodForSeconds
  }
}

/// What the person is to be known by. The seed's `NONE` authenticates nobody and is no choice here.
package enum LocalAuthType: String, Codable, Sendable, CaseIterable {
  case biometric
  case passcode
}

/// That the person at this machine has proved to be the flow's owner, and when.
package struct LocalAuthProof: Codable, Sendable, Equatable {
  package var method: LocalAuthType
  package var at: Timestamp
  /// What the method was taken in place of, by a request that allows it (the seed's
  /// `usePasscodeWhenFailed`); nil where it was the one wanted.
  package var insteadOf: LocalAuthType?

  package init(method: LocalAuthType, at: Timestamp, insteadOf: LocalAuthType? = nil) {
    self.method = method
    self.at = at
    self.insteadOf = insteadOf
  }

  /// Whether it will do where this method is wanted: after a `startSimpleAuth` that has succeeded, the
  /// seed lets `requestSignUp` follow, also where the passcode took the finger's place.
  package func serves(_ wanted: LocalAuthType) -> Bool { method == wanted || insteadOf == wanted }

  /// Whether it is at most that old. One from the future is none.
  package func isGood(for age: Duration, at now: Timestamp) -> Bool { at <= now && now <= at + age }
}
