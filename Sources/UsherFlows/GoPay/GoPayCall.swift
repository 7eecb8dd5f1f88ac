package import UsherConfig
package import UsherCore

/// A call to GoPay or to the partner's backend (provider contract §3.4; page GoPay in Usher.docc).
///
/// A call carries a linking token itself only if no account stores that token yet.
package enum GoPayCall: ProviderCall {
  /// Requests an auth code with a linking token, so that the user need not log in.
  case authCode(LinkingToken, correlationID: String, requestID: String)
  /// Redeems an auth code at the partner's backend.
  case exchange(code: Secret, correlationID: String, requestID: String)
  /// Redeems an auth code with SNAP, which binds the user to the GoPay account.
  ///
  /// - Parameters:
  ///   - device: The id of the owner's installation. It is not sent, but needed to remove the
  ///     binding.
  ///   - externalID: The `X-EXTERNAL-ID`: 32 decimal digits; the same when the call is repeated.
  case binding(code: Secret, device: String, externalID: String)
  /// Removes the binding between the user and the GoPay account to which a linking token belongs.
  ///
  /// - Parameters:
  ///   - device: The id of the owner's installation.
  ///   - externalID: The `X-EXTERNAL-ID`: 32 decimal digits; nil creates another one for each
  ///     attempt.
  case unbinding(token: Secret, device: String, externalID: String? = nil)
  /// Requests a capture token for the log-in that issued the auth code.
  case sessionToken(code: Secret, requestID: String)
  /// Requests a capture token with a linking token.
  case temporaryToken(LinkingToken, requestID: String)
  /// Requests the address of the capture page.
  case capture(CaptureSession, token: Secret)
  /// Requests the status of the submission with this id, which the user made on the capture page.
  case submission(id: String, CaptureSession, token: Secret)
  /// Requests the status of the user's latest submission, outside of a capture.
  case currentSubmission(LinkingToken, requestID: String)

  package var name: String {
    switch self {
    case .authCode: "auth_code"
    case .exchange: "exchange"
    case .binding: "binding"
    case .unbinding: "unbinding"
    case .sessionToken: "session_token"
    case .temporaryToken: "temporary_token"
    case .capture: "capture"
    case .submission: "submission"
    case .currentSubmission: "current_submission"
    }
  }

  package var account: AccountID? {
    switch self {
    case .authCode(.account(let account), correlationID: _, requestID: _),
      .temporaryToken(.account(let account), requestID: _),
      .currentSubmission(.account(let account), requestID: _):
      account
    case .authCode, .exchange, .binding, .unbinding, .sessionToken, .temporaryToken, .capture,
      .submission, .currentSubmission:
      nil
    }
  }
}

/// The token that links a user of the partner to a GoPay account, as flows and calls refer to it.
package enum LinkingToken: Codable, Sendable, Equatable {
  case token(Sealed<Secret>)
  /// The linking token that this account stores. Flows do not know it; the engine puts it into the
  /// request.
  case account(AccountID)

  /// The linking token itself; nil if an account stores it.
  var secret: Sealed<Secret>? { if case .token(let token) = self { token } else { nil } }
}

/// The values that identify a capture in calls to GoPay.
package struct CaptureSession: Codable, Sendable, Equatable {
  /// The header `x-sdk-session-id`: a UUID, different for each flow.
  package var id: String
  /// The flow's `requestId`, which the header `x-partner-session-id` contains in encoded form.
  package var requestID: String
  /// The URL to which the capture page redirects at its end; nil if it redirects nowhere.
  package var returnURL: String?
  package var locale: GoPayLocale
}
