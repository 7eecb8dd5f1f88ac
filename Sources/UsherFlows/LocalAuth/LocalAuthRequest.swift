package import UsherCore

/// A request to authenticate the user who is at this machine (SDK documentation,
/// `startSimpleAuth`).
package struct LocalAuthRequest: Codable, Sendable, Equatable {
  package var localAuthType: LocalAuthType
  /// The text that is shown to the user.
  package var reason: String
  /// Whether the request fails if the enrolled fingers differ from those that the flow's client
  /// saved at the flow's provider.
  package var checkDomainStateChanged = false
  /// Whether the user may give a passcode if the finger is not recognized.
  package var usePasscodeWhenFailed = false
  /// The maximum age, in seconds, of an earlier successful authentication by the same client that
  /// satisfies this request; nil requires a new one.
  package var goodForSeconds: Int?
}

/// A method of local authentication. `NONE` of the SDK documentation is not a choice here, because
/// it does not authenticate the user.
package enum LocalAuthType: String, Codable, Sendable, CaseIterable {
  case biometric
  case passcode
}

/// A successful local authentication of the flow's owner: by which method, and when.
package struct LocalAuthProof: Codable, Sendable, Equatable {
  package var method: LocalAuthType
  package var at: Timestamp
  /// The requested method, if the user gave a passcode in its place (`usePasscodeWhenFailed` of the
  /// SDK documentation); nil if `method` was requested.
  package var insteadOf: LocalAuthType?

  package init(method: LocalAuthType, at: Timestamp, insteadOf: LocalAuthType? = nil) {
    self.method = method
    self.at = at
    self.insteadOf = insteadOf
  }

  /// Returns whether the proof satisfies a request for a method. The SDK documentation allows
  /// `requestSignUp` after any successful `startSimpleAuth`, even if the user gave a passcode in
  /// place of a finger.
  package func serves(_ type: LocalAuthType) -> Bool { method == type || insteadOf == type }

  /// Returns whether the authentication was at most `age` ago. A time in the future does not count.
  package func isFresh(for age: Duration, at now: Timestamp) -> Bool {
    at <= now && now <= at + age
  }
}
