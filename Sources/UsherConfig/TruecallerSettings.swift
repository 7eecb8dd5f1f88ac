/// The settings of a provider of type `truecaller`: verification of phone numbers by a code.
package struct TruecallerSettings: SettingsSection {
  /// The name of the appKey in the credential store. The daemon sends the appKey in a header; its
  /// holder can send codes in the app's name.
  package var appKeyCredential: String
  /// The header `appLink`, as registered at Truecaller.
  package var appLink: String
  /// The generation of Truecaller's API by which access tokens are validated; none by default.
  package var validation = TokenValidation.none
  /// The base URL of the validation of access tokens; nil means the default host of the generation
  /// in `validation`.
  package var validationBaseURL: ProviderURL?
  /// The partner's client id of the OAuth SDK, for the validation `oauth`.
  package var clientID: String?
  package var otpBaseURL = ProviderURL(host: "api4.truecaller.com")
  package var profileBaseURLEU = ProviderURL(host: "outline-eu.truecaller.com")
  package var profileBaseURLNonEU = ProviderURL(host: "outline-noneu.truecaller.com")
  /// The number of digits of a code in an SMS.
  package var otpDigits = 6
  /// The header `sdkVersion`, the version of Truecaller's SDK that the daemon emulates.
  package var sdkVersion = "0.2.3"
  /// The member `version` of a request for a code: the version of the app.
  package var appVersion = "1.0"
  package var paths = TruecallerPaths()

  package init(appKeyCredential: String, appLink: String) {
    self.appKeyCredential = appKeyCredential
    self.appLink = appLink
  }

  package static var blank: TruecallerSettings {
    TruecallerSettings(appKeyCredential: "", appLink: "")
  }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&appKeyCredential, "app_key_credential", violation: \.credentialViolation)
    table.required(&appLink, "app_link") { $0.visibleViolation(upTo: 1024) }
    table.setting(&validation, "validation")
    table.setting(&validationBaseURL, "validation_base_url", violation: \.baseViolation)
    table.setting(&clientID, "client_id") { $0.visibleViolation(upTo: 1024) }
    table.setting(&otpBaseURL, "otp_base_url", violation: \.baseViolation)
    table.setting(&profileBaseURLEU, "profile_base_url_eu", violation: \.baseViolation)
    table.setting(&profileBaseURLNonEU, "profile_base_url_noneu", violation: \.baseViolation)
    table.setting(&otpDigits, "otp_digits", 4...10)
    table.setting(&sdkVersion, "sdk_version", violation: Self.version)
    table.setting(&appVersion, "app_version", violation: Self.version)
    table.table(&paths, "paths")
    if validation == .oauth, clientID == nil {
      table.reportProblem("validation", "\"oauth\" needs client_id")
    }
  }

  private static func version(_ text: String) -> String? {
    text.consists(upTo: 64, of: \.isVisible) ? nil : "must be up to 64 of printable ASCII"
  }

  /// The base URL and path of the validation of access tokens; nil if tokens are not validated.
  package var validationPlace: (base: ProviderURL, path: ProviderPath)? {
    guard let place = validation.place(otpBase: otpBaseURL) else { return nil }
    return (validationBaseURL ?? place.base, paths.validate ?? place.path)
  }
}

/// How the access token of a verification is validated: by one of the three generations of
/// Truecaller's API.
package enum TokenValidation: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case none
  /// The first generation, at the host that also sends the codes.
  case legacy
  /// The generation that SDK version 2.8 uses.
  case sdk28 = "v2_8"
  /// The generation that the OAuth SDK, version 3, uses.
  case oauth

  fileprivate func place(otpBase: ProviderURL) -> (base: ProviderURL, path: ProviderPath)? {
    let newer = ProviderURL(host: "sdk-otp-verification-noneu.truecaller.com")
    return switch self {
    case .none: nil
    case .legacy: (otpBase, ProviderPath("/v1/otp/installation/validate/{accessToken}"))
    case .sdk28: (newer, ProviderPath("/v1/otp/installation/phoneNumberDetail/{accessToken}"))
    case .oauth:
      (newer, ProviderPath("/v1/otp/client/installation/phoneNumberDetail/{accessToken}"))
    }
  }
}

/// The paths of `[provider.paths]`: relative to their base URLs, or absolute URLs.
package struct TruecallerPaths: SettingsSection {
  package var create = ProviderPath("/v1/otp/installation/create")
  package var verify = ProviderPath("/v1/otp/installation/verify")
  package var profile = ProviderPath("/v1/profile")
  /// The path of the validation of access tokens; nil means the default of the configured
  /// generation.
  package var validate: ProviderPath?
  /// The path of the keys that verify signed profiles.
  package var key = ProviderPath("/v1/key")

  package static var blank: TruecallerPaths { TruecallerPaths() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&create, "create", violation: \.plainViolation)
    table.setting(&verify, "verify", violation: \.plainViolation)
    table.setting(&profile, "profile", violation: \.plainViolation)
    table.setting(&validate, "validate") {
      $0.violation(placeholder: "accessToken", isNeeded: true)
    }
    table.setting(&key, "key", violation: \.plainViolation)
  }
}

extension TruecallerSettings: ProviderTypeSettings {
  package static let type = ProviderType.truecaller

  package var variety: ProviderVariety { .truecaller }
  package var tokenAddresses: [String] { [otpBaseURL.text] }
}
