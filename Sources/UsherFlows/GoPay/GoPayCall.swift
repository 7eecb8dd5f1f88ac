package import UsherConfig
package import UsherCore

/// What is asked of GoPay and of the partner's backend (contract §3.4; the page GoPay of the
/// documentation).
///
/// Linking tokens stand in the calls themselves where there is no account yet.
package enum GoPayCall: ProviderCall {
  /// An auth code for a linking token.
  case authCode(LinkingToken, correlationID: String, requestID: String)
  /// Redeems an auth code at the partner's backend.
  case exchange(code: Secret, correlationID: String, requestID: String)
  /// Redeems an auth code by SNAP.
  ///
  /// - Parameters:
  ///   - device: The owner's installation: not sent, but needed to undo it.
  ///   - externalID: 32 decimal digits; the same when the call is repeated.
  case binding(code: Secret, device: String, externalID: String)
  /// - Parameters:
  ///   - device: The owner's installation.
  ///   - externalID: 32 decimal digits; nil for new ones each time it is sent.
  case unbinding(token: Secret, device: String, externalID: String? = nil)
  /// A token for the capture, of the log-in that the auth code came from.
  case sessionToken(code: Secret, requestID: String)
  /// Likewise for a linking token.
  case temporaryToken(LinkingToken, requestID: String)
  /// The address of the capture page.
  case capture(CaptureSession, token: Secret)
  /// How a capture stands.
  case submission(id: String, CaptureSession, token: Secret)
  /// How the person's submission stands, before a flow or after it.
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

/// A user's link to GoPay.
package enum LinkingToken: Sendable, Equatable {
  case token(Secret)
  /// That of an account, which the engine supplies.
  case account(AccountID)
}

/// What a capture is known by on both sides.
package struct CaptureSession: Codable, Sendable, Equatable {
  /// `x-sdk-session-id`: a UUID of the flow.
  package var id: String
  /// `x-partner-session-id`: the flow's `requestId`.
  package var requestID: String
  /// Where the page leads at its end; nil where it says only that it is over.
  package var returnURL: String?
  package var locale: GoPayLocale

  package init(id: String, requestID: String, returnURL: String? = nil, locale: GoPayLocale) {
    self.id = id
    self.requestID = requestID
    self.returnURL = returnURL
    self.locale = locale
  }
}

extension ProviderConfig {
  /// The settings of a provider of type `gopay`.
  package var gopay: GoPaySettings {
    switch settings {
    case .gopay(let settings): return settings
    case .oidc, .paysafe, .truecaller, .freedomid, .bsa, .local:
      fatalError("provider \(name) is of type \(settings.type) and not asked so")
    }
  }
}

extension GoPaySettings {
  /// The credentials that are configured, whatever needs them.
  package var credentialNames: [String] {
    [exchangeCredential, privateKeyCredential, clientSecretCredential, callbackCredential]
      .compactMap(\.self)
  }
}
