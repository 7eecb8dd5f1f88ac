import UsherCore

// The `async` forms of the SDK's calls. They call the delegate too, if it is set, and need no
// `viewDelegate`.

extension TCTrueSDK {
  /// Requests a code for a phone number, and returns the events of the verification.
  ///
  /// The request is that of ``requestVerification(forPhone:countryCode:)``, without its check of
  /// `viewDelegate`. The stream ends with the verification: after the profile, after the error that
  /// ends the verification, or when another number replaces this one. Dropping the stream does not
  /// end the verification.
  public func verification(
    forPhone phone: String, countryCode: String
  ) -> AsyncStream<TCVerificationEvent> {
    let (events, listener) = AsyncStream.makeStream(of: TCVerificationEvent.self)
    request(phone, countryCode, listener)
    return events
  }

  /// Submits a code and a name, and waits for the profile.
  ///
  /// - Throws: The error of the attempt. After a wrong code or an invalid name the verification is
  ///   still active, and this may be called again. ``TCTrueSDKErrorCode/userCancelled`` if the task
  ///   is cancelled or another number replaces this one.
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
    throw TCError(KitError(.cancelled, "the verification was cancelled"))
  }
}
