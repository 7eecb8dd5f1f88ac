import UsherCore

// For a program that would rather wait than be called. The delegate, where there is one, hears the
// same; a viewDelegate is not needed.

extension TCTrueSDK {
  /// Asks for a code to be sent to a number, and tells what becomes of it.
  ///
  /// It asks as ``requestVerification(forPhone:countryCode:)`` does. The stream ends with the
  /// verification: after the profile, after the error it failed with, or when another number takes
  /// its place. Who stops reading it stops hearing; the verification goes on.
  public func verification(
    forPhone phone: String, countryCode: String
  ) -> AsyncStream<TCVerificationEvent> {
    let (events, listener) = AsyncStream.makeStream(of: TCVerificationEvent.self)
    request(phone, countryCode, listener)
    return events
  }

  /// Hands in a code and a name, and waits for the profile.
  ///
  /// - Throws: What came of it: after a wrong code, or a name that is none, the verification goes on
  ///   and another may be handed in. ``TCTrueSDKErrorCode/userCancelled`` when the task is
  ///   cancelled, or another number took the place of this one.
  public func verify(
    code: String, firstName: String, lastName: String
  ) async throws(TCError) -> TCTrueProfile {
    let (events, listener) = AsyncStream.makeStream(of: TCVerificationEvent.self)
    enter(code, firstName, lastName, listener)
    for await event in events {
      switch event {
      case .state: continue
      case .profile(let profile): return profile
      case .failed(let error): throw error
      }
    }
    throw TCError(KitError(.cancelled, "the verification was given up"))
  }
}
