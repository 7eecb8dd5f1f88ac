/// The settings of a provider of type `gopay`: Verify with GoPay.
package struct GoPaySettings: SettingsSection {
  /// The `clientID` of GoPay's SDK. In SNAP, the payment API, it is `X-CLIENT-KEY` and
  /// `X-PARTNER-ID`.
  package var clientID: String
  package var merchantID: String
  /// Which party redeems the auth code: app, partner's backend or daemon.
  package var exchange = GoPayExchange.app
  /// The number of seconds in which an auth code must be redeemed.
  package var exchangeSeconds = 60
  package var redirect = Redirect.loopback
  package var snapBaseURL = ProviderURL(host: "merchants.midtrans.com")
  package var identityBaseURL = ProviderURL(host: "identity.midtrans.com")
  package var captureBaseURL = ProviderURL(host: "onekyc.ky.id.gopayapi.com")
  /// The URL of the partner's backend that redeems auth codes, if `exchange` is `backend`.
  package var exchangeURL: ProviderURL?
  /// The name of the credential that is sent to the partner's backend as a bearer token; nil means
  /// that none is sent.
  package var exchangeCredential: String?
  /// The name of the credential with the RSA key (PEM). The key signs the request for SNAP's client
  /// token.
  package var privateKeyCredential: String?
  /// The name of the credential with the client secret, which signs all other requests to SNAP.
  package var clientSecretCredential: String?
  /// The header `CHANNEL-ID` of SNAP.
  package var channelID: String?
  /// The address on which the daemon receives GoPay's calls with verdicts; nil means that it does
  /// not listen.
  package var callbackListen: LoopbackAddress?
  /// The name of the credential that GoPay's calls to the daemon may present in place of a user's
  /// linking token.
  package var callbackCredential: String?
  /// The language of GoPay's pages if the caller names none.
  package var locale = GoPayLocale.id
  /// The member `submissionType` of the request for a capture page.
  package var submissionType = "FULL_KYC"
  /// The number of seconds between two polls for the state of a capture.
  package var pollSeconds = 3
  /// The number of seconds that the user has for the capture, from its beginning.
  package var captureSeconds = 1800
  /// The number of days after a submission in which the daemon polls for the verdict.
  package var kycDays = 7
  package var paths = GoPayPaths()

  package init(clientID: String, merchantID: String) {
    self.clientID = clientID
    self.merchantID = merchantID
  }

  package static var blank: GoPaySettings { GoPaySettings(clientID: "", merchantID: "") }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&clientID, "client_id") { $0.visibleViolation(upTo: 256) }
    table.required(&merchantID, "merchant_id") { $0.visibleViolation(upTo: 256) }
    table.setting(&exchange, "exchange")
    table.setting(&exchangeSeconds, "exchange_seconds", 5...600)
    table.setting(&redirect, "redirect")
    table.setting(&snapBaseURL, "snap_base_url", violation: \.baseViolation)
    table.setting(&identityBaseURL, "identity_base_url", violation: \.baseViolation)
    table.setting(&captureBaseURL, "capture_base_url", violation: \.baseViolation)
    table.setting(&exchangeURL, "exchange_url")
    table.setting(&exchangeCredential, "exchange_credential", violation: \.credentialViolation)
    table.setting(&privateKeyCredential, "private_key_credential", violation: \.credentialViolation)
    table.setting(
      &clientSecretCredential, "client_secret_credential", violation: \.credentialViolation)
    table.setting(&channelID, "channel_id") { $0.visibleViolation(upTo: 256) }
    table.setting(&callbackListen, "callback_listen")
    table.setting(&callbackCredential, "callback_credential", violation: \.credentialViolation)
    table.setting(&locale, "locale")
    table.setting(&submissionType, "submission_type") { text in
      text.consists(upTo: 64, of: \.isWordByte) ? nil : "must be up to 64 of A-Z a-z 0-9 _"
    }
    table.setting(&pollSeconds, "poll_seconds", 1...60)
    table.setting(&captureSeconds, "capture_seconds", 60...86_400)
    table.setting(&kycDays, "kyc_days", 1...90)
    table.table(&paths, "paths")
    for (key, isSet) in needs where !isSet {
      table.reportProblem("exchange", "\"\(exchange.rawValue)\" needs \(key)")
    }
  }

  /// The settings that the value of `exchange` requires, and whether each is present.
  private var needs: [(key: String, isSet: Bool)] {
    switch exchange {
    case .app: []
    case .backend: [("exchange_url", exchangeURL != nil)]
    case .snap:
      [
        ("private_key_credential", privateKeyCredential != nil),
        ("client_secret_credential", clientSecretCredential != nil),
        ("channel_id", channelID != nil),
      ]
    }
  }
}

/// Which party redeems the auth code that a log-in at GoPay returns.
package enum GoPayExchange: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// The app: the flow hands out the code, and the app submits the result of the exchange.
  case app
  /// The partner's backend, to which the daemon sends the code.
  case backend
  /// The daemon, which binds the account with SNAP.
  case snap
}

/// The languages of GoPay's pages.
package enum GoPayLocale: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case id, en
}

/// The paths of `[provider.paths]`: relative to their base URLs, or absolute URLs.
package struct GoPayPaths: SettingsSection {
  /// The sign-in page in the browser.
  package var authCodePage = ProviderPath("/v1.0/get-auth-code")
  /// Exchanges a linking token for an auth code.
  package var authCode = ProviderPath("/gopay-id/sdk/v1/auth-code")
  /// Exchanges the auth code of a log-in for the capture token.
  package var sessionToken = ProviderPath("/gopay-id/sdk/v1/token")
  /// Exchanges a linking token for the capture token.
  package var temporaryToken = ProviderPath("/forward/gopay-id/identity/v1/gopay-id/token")
  package var b2bToken = ProviderPath("/v1.0/access-token/b2b")
  package var binding = ProviderPath("/v1.0/registration-account-binding")
  package var unbinding = ProviderPath("/v1.0/registration-account-unbinding")
  /// The path of the call that returns the URL of the page where the user photographs card and
  /// face.
  package var capture = ProviderPath("/coe/v1/submissions/urls")
  package var submission = ProviderPath("/coe/v1/submissions/{submissionId}")
  package var currentSubmission = ProviderPath(
    "/forward/gopay-id/kyc/inbound/v1/users/submissions/current")
  /// The path at which the daemon receives GoPay's calls with verdicts.
  package var callback = ProviderPath("/v1/callback/partner")

  package static var blank: GoPayPaths { GoPayPaths() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&authCodePage, "auth_code_page", violation: \.plainViolation)
    table.setting(&authCode, "auth_code", violation: \.plainViolation)
    table.setting(&sessionToken, "session_token", violation: \.plainViolation)
    table.setting(&temporaryToken, "temporary_token", violation: \.plainViolation)
    table.setting(&b2bToken, "b2b_token", violation: \.plainViolation)
    table.setting(&binding, "binding", violation: \.plainViolation)
    table.setting(&unbinding, "unbinding", violation: \.plainViolation)
    table.setting(&capture, "capture", violation: \.plainViolation)
    table.setting(&submission, "submission") {
      $0.violation(placeholder: "submissionId", isNeeded: true)
    }
    table.setting(&currentSubmission, "current_submission", violation: \.plainViolation)
    table.setting(&callback, "callback") { path in
      path.text.hasPrefix("/") ? path.plainViolation : "must be a path"
    }
  }
}

extension GoPaySettings: ProviderTypeSettings {
  package static let type = ProviderType.gopay

  package var variety: ProviderVariety { .gopay }
  package var callbackAddress: LoopbackAddress? { callbackListen }
  package var tokenAddresses: [String] {
    [snapBaseURL.text, identityBaseURL.text, captureBaseURL.text] + paths.showingTokens.wholeURLs
  }
}

extension GoPayPaths {
  /// The paths of the API whose requests carry a token.
  fileprivate var showingTokens: [ProviderPath] {
    [authCode, temporaryToken, unbinding, submission, currentSubmission]
  }
}
