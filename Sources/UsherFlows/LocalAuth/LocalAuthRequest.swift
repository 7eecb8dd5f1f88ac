package import UsherCore

/// A request to authenticate the user at this machine (seed, `startSimpleAuth`).
package struct LocalAuthRequest: Codable, Sendable, Equatable {
  package var localAuthType: LocalAuthType
  /// The text that is shown to the user.
  package var reason: String
  /// Whether the request fails if the enrolled fingers are not the ones saved for the flow's client
  /// and provider.
  package var checkDomainStateChanged: Bool
  /// Whether a passcode is accepted if the finger fails.
  package var usePasscodeWhenFailed: Bool
  /// The maximum age in seconds of an earlier success of the client that is reused; nil: none is
  /// reused.
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

/// A method of local authentication. The seed's `NONE` is not a choice here, because it does not
/// authenticate the user.
package enum LocalAuthType: String, Codable, Sendable, CaseIterable {
  case biometric
  case passcode
}

/// A record that the user at this machine authenticated as the flow's owner, with the time.
package struct LocalAuthProof: Codable, Sendable, Equatable {
  package var method: LocalAuthType
  package var at: Timestamp
  /// The requested method that this one replaced, if the request allows that (the seed's
  /// `usePasscodeWhenFailed`); nil if this was the requested method.
  package var insteadOf: LocalAuthType?

  package init(method: LocalAuthType, at: Timestamp, insteadOf: LocalAuthType? = nil) {
    self.method = method
    self.at = at
    self.insteadOf = insteadOf
  }

  /// Returns whether the proof satisfies a request for a method. The seed allows `requestSignUp`
  /// after any successful `startSimpleAuth`, even if the passcode replaced the finger.
  package func serves(_ wanted: LocalAuthType) -> Bool { method == wanted || insteadOf == wanted }

  /// Returns whether the proof is at most `age` old. A time in the future does not count.
  package func isFresh(for age: Duration, at now: Timestamp) -> Bool {
    at <= now && now <= at + age
  }
}
