/// The settings of a provider of type `freedomid`: Freedom ID.
package struct FreedomIDSettings: SettingsSection {
  /// Which of the three APIs of Freedom ID the daemon uses.
  package var mode: FreedomIDMode
  package var baseURL = ProviderURL(host: "passport.freedompay.kz")
  /// The number of days for which grants are remembered: a client that asks for them again does not
  /// ask the user. 0: the user decides each time.
  package var consentDays = 0
  /// The name of the API key in the credential store, for mode `device`.
  package var apiKeyCredential: String?
  /// The client id, for the modes `oauth2` and `oidc`.
  package var clientID: String?
  /// The name of the client secret in the credential store, for the modes `oauth2` and `oidc`.
  package var clientCredential: String?
  package var redirect = Redirect.loopback
  /// The base URL of the partner API that creates and updates users, for mode `oauth2`.
  package var apiBaseURL = ProviderURL(host: "api.freedompay.kz")
  /// The number of seconds between two polls for a profile that was requested.
  package var pollSeconds = 5
  /// The number of seconds that another person has to answer a request for a profile. Freedom ID
  /// keeps the request for 24 hours.
  package var requestSeconds = 86_400
  /// The address on which the daemon listens for the partner's `revoke_uri`, by which Freedom ID
  /// reports log-outs; nil means that it does not listen.
  package var callbackListen: LoopbackAddress?
  /// The scopes that are requested in mode `oidc`.
  package var scopes = ["openid"]
  /// Whether the daemon uses PKCE in mode `oidc`. The vendor does not document it.
  package var pkce = false
  package var paths = FreedomIDPaths()
  /// The endpoints that override discovery, for mode `oidc`.
  package var endpoints = OIDCEndpoints()

  package init(mode: FreedomIDMode) { self.mode = mode }

  package static var blank: FreedomIDSettings { FreedomIDSettings(mode: .device) }

  package mutating func bind(_ table: SettingsTable) {
    var mode: FreedomIDMode? = mode
    table.required(&mode, "mode")
    table.setting(&baseURL, "base_url", violation: \.baseViolation)
    table.setting(&consentDays, "consent_days", 0...3650)
    table.setting(&apiKeyCredential, "api_key_credential", violation: \.credentialViolation)
    table.setting(&clientID, "client_id") { $0.visibleViolation(upTo: 256) }
    table.setting(&clientCredential, "client_credential", violation: \.credentialViolation)
    table.setting(&redirect, "redirect")
    table.setting(&apiBaseURL, "api_base_url", violation: \.baseViolation)
    table.setting(&pollSeconds, "poll_seconds", 1...60)
    table.setting(&requestSeconds, "request_seconds", 60...86_400)
    table.setting(&callbackListen, "callback_listen")
    table.setting(&scopes, "scopes", violation: OIDCSettings.violation(scopes:))
    table.setting(&pkce, "pkce")
    table.table(&paths, "paths")
    table.table(&endpoints, "endpoints")
    // The required settings depend on the mode, so an invalid mode ends the check here.
    guard let mode else { return }
    self.mode = mode
    for (key, isSet) in needs where !isSet {
      table.reportProblem("mode", "\"\(mode.rawValue)\" needs \(key)")
    }
  }

  /// The settings that the mode requires, and whether each is present.
  private var needs: [(key: String, isSet: Bool)] {
    switch mode {
    case .device: [("api_key_credential", apiKeyCredential != nil)]
    case .oauth2, .oidc:
      [("client_id", clientID != nil), ("client_credential", clientCredential != nil)]
    }
  }

  /// Whether the user decides each time, also about grants that the client has already.
  package var asksAlways: Bool { consentDays == 0 }

  /// The number of days for which a grant lets the client read the account and its tokens.
  package var grantDays: Int { asksAlways ? 365 : consentDays }

  /// The name of the credential that authenticates the daemon's requests in this mode.
  package var credentialName: String? {
    switch mode {
    case .device: apiKeyCredential
    case .oauth2, .oidc: clientCredential
    }
  }

  /// The settings for mode `oidc`, in the form of the settings of an OpenID Connect provider.
  package var oidc: OIDCSettings {
    var settings = OIDCSettings(issuer: baseURL, clientID: clientID ?? "")
    settings.clientCredential = clientCredential
    settings.clientAuth = .basic
    settings.scopes = scopes
    settings.redirect = redirect
    settings.endpoints = endpoints
    settings.endpoints.authorization = endpoints.authorization ?? url(paths.openid)
    settings.endpoints.token = endpoints.token ?? url(paths.openidToken)
    settings.tokenRequest = .json
    settings.pkce = pkce
    return settings
  }

  private func url(_ path: ProviderPath) -> ProviderURL? {
    try? ProviderURL(setting: path.url(under: baseURL))
  }
}

/// Which of the three APIs of Freedom ID the daemon uses.
package enum FreedomIDMode: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// The API of the mobile SDK: the user signs in step by step, without a browser.
  case device
  /// The partner API, in which the user approves grants on a page in the browser.
  case oauth2
  /// The API that speaks OpenID Connect.
  case oidc
}

/// The paths of `[provider.paths]`: relative to their base URLs, or absolute URLs.
package struct FreedomIDPaths: SettingsSection {
  package var accounts = ProviderPath("/api/v1/device/accounts")
  package var loginOTP = ProviderPath("/api/v1/device/login/otp")
  package var loginOTPVerify = ProviderPath("/api/v1/device/login/otp/verify")
  package var loginPassword = ProviderPath("/api/v1/device/login/password")
  package var loginTwoFactor = ProviderPath("/api/v1/device/login/two-factor")
  package var loginResend = ProviderPath("/api/v1/device/login/resend")
  package var deviceToken = ProviderPath("/api/v1/device/token")
  package var deviceConsent = ProviderPath("/api/v1/device/consent")
  package var authorize = ProviderPath("/api/v1/oauth/authorize")
  package var token = ProviderPath("/api/v1/oauth/token")
  package var userInfo = ProviderPath("/api/v1/oauth/user")
  package var profile = ProviderPath("/api/v1/oauth/get-profile")
  package var profileStatus = ProviderPath("/api/v1/oauth/get-profile/status")
  package var user = ProviderPath("/api/v1/oauth/user")
  package var openid = ProviderPath("/openid")
  package var openidToken = ProviderPath("/api/v1/oidc/token")
  /// The path at which the daemon receives the calls to the `revoke_uri`.
  package var revoke = ProviderPath("/v1/freedomid/revoke")

  package static var blank: FreedomIDPaths { FreedomIDPaths() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&accounts, "accounts", violation: \.plainViolation)
    table.setting(&loginOTP, "login_otp", violation: \.plainViolation)
    table.setting(&loginOTPVerify, "login_otp_verify", violation: \.plainViolation)
    table.setting(&loginPassword, "login_password", violation: \.plainViolation)
    table.setting(&loginTwoFactor, "login_two_factor", violation: \.plainViolation)
    table.setting(&loginResend, "login_resend", violation: \.plainViolation)
    table.setting(&deviceToken, "device_token", violation: \.plainViolation)
    table.setting(&deviceConsent, "device_consent", violation: \.plainViolation)
    table.setting(&authorize, "authorize", violation: \.plainViolation)
    table.setting(&token, "token", violation: \.plainViolation)
    table.setting(&userInfo, "user_info", violation: \.plainViolation)
    table.setting(&profile, "profile", violation: \.plainViolation)
    table.setting(&profileStatus, "profile_status", violation: \.plainViolation)
    table.setting(&user, "user", violation: \.plainViolation)
    table.setting(&openid, "openid", violation: \.plainViolation)
    table.setting(&openidToken, "openid_token", violation: \.plainViolation)
    table.setting(&revoke, "revoke") { path in
      path.text.hasPrefix("/") ? path.plainViolation : "must be a path"
    }
  }
}

extension FreedomIDSettings: ProviderTypeSettings {
  package static let type = ProviderType.freedomid

  package var variety: ProviderVariety {
    switch mode {
    case .device: .freedomidDevice
    case .oauth2: .freedomidOAuth2
    case .oidc: .freedomidOIDC
    }
  }
  package var callbackAddress: LoopbackAddress? { mode == .oauth2 ? callbackListen : nil }
  package var tokenAddresses: [String] {
    [baseURL.text, apiBaseURL.text] + [endpoints.token?.text].compactMap(\.self)
      + paths.showingTokens.wholeURLs
  }

  /// Returns the settings as those of an OpenID Connect provider in mode `oidc`, because that mode
  /// runs its flows.
  package func view<Settings: ProviderTypeSettings>(as type: Settings.Type) -> Settings? {
    self as? Settings ?? (mode == .oidc ? oidc as? Settings : nil)
  }
}

extension FreedomIDPaths {
  /// The paths of the API whose requests carry a token.
  fileprivate var showingTokens: [ProviderPath] {
    [deviceToken, deviceConsent, token, userInfo, profile, profileStatus, openidToken]
  }
}
