/// The settings of a provider of type `truecaller`: verification of phone numbers by a code.
package struct TruecallerSettings: SettingsSection {
  /// The name of the appKey in the credential store. Requests carry the appKey in a header; its
  /// holder can send codes in the app's name.
  package var appKeyCredential: String
  /// The `appLink` header, as registered at the provider.
  package var appLink: String
  /// The vendor's API generation by which access tokens are checked.
  package var validation = TokenValidation.none
  /// The base URL of that check; nil: the default host of the generation.
  package var validationBaseURL: ProviderURL?
  /// The partner's id of the OAuth SDK, for the generation `oauth`.
  package var clientID: String?
  package var otpBaseURL = ProviderURL(host: "api4.truecaller.com")
  package var profileBaseURLEU = ProviderURL(host: "outline-eu.truecaller.com")
  package var profileBaseURLNonEU = ProviderURL(host: "outline-noneu.truecaller.com")
  /// The number of digits of a code.
  package var otpDigits = 6
  /// The `sdkVersion` header.
  package var sdkVersion = "0.2.3"
  /// The `version` of a request for a code: the app's build.
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
    table.required(&appKeyCredential, "app_key_credential", complaint: \.credentialComplaint)
    table.required(&appLink, "app_link") { $0.visibleComplaint(upTo: 1024) }
    table.setting(&validation, "validation")
    table.setting(&validationBaseURL, "validation_base_url", complaint: \.baseComplaint)
    table.setting(&clientID, "client_id") { $0.visibleComplaint(upTo: 1024) }
    table.setting(&otpBaseURL, "otp_base_url", complaint: \.baseComplaint)
    table.setting(&profileBaseURLEU, "profile_base_url_eu", complaint: \.baseComplaint)
    table.setting(&profileBaseURLNonEU, "profile_base_url_noneu", complaint: \.baseComplaint)
    table.setting(&otpDigits, "otp_digits", 4...10)
    table.setting(&sdkVersion, "sdk_version", complaint: Self.version)
    table.setting(&appVersion, "app_version", complaint: Self.version)
    table.table(&paths, "paths")
    if validation == .oauth, clientID == nil {
      table.complain("validation", "\"oauth\" needs client_id")
    }
  }

  private static func version(_ text: String) -> String? {
    text.consists(upTo: 64, of: \.isVisible) ? nil : "must be up to 64 of printable ASCII"
  }

  /// The base URL and path of the access token check; nil if tokens are not checked.
  package var validationPlace: (base: ProviderURL, path: ProviderPath)? {
    guard let place = validation.place(otpBase: otpBaseURL) else { return nil }
    return (validationBaseURL ?? place.base, paths.validate ?? place.path)
  }
}

/// How a server checks the access token of a verification: one of the vendor's three API
/// generations.
package enum TokenValidation: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case none
  /// The first generation, at the host that sends the codes.
  case legacy
  /// The generation of SDK 2.8.
  case sdk28 = "v2_8"
  /// The generation of the OAuth SDK 3.
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

/// `[provider.paths]`: paths below their base URLs, or absolute URLs.
package struct TruecallerPaths: SettingsSection {
  package var create = ProviderPath("/v1/otp/installation/create")
  package var verify = ProviderPath("/v1/otp/installation/verify")
  package var profile = ProviderPath("/v1/profile")
  /// The path of the access token check; nil: the default of the configured generation.
  package var validate: ProviderPath?
  /// The keys that sign profiles.
  package var key = ProviderPath("/v1/key")

  package static var blank: TruecallerPaths { TruecallerPaths() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&create, "create", complaint: \.plainComplaint)
    table.setting(&verify, "verify", complaint: \.plainComplaint)
    table.setting(&profile, "profile", complaint: \.plainComplaint)
    table.setting(&validate, "validate") {
      $0.complaint(placeholder: "accessToken", isNeeded: true)
    }
    table.setting(&key, "key", complaint: \.plainComplaint)
  }
}

extension TruecallerSettings: ProviderTypeSettings {
  package static let type = ProviderType.truecaller

  package var variety: ProviderVariety { .truecaller }
  package var tokenAddresses: [String] { [otpBaseURL.text] }
}
