/// The settings of a provider of type `paysafe`: Embedded Wallets.
package struct PaysafeSettings: SettingsSection {
  /// The URL to which every path of the API is appended.
  package var baseURL: ProviderURL
  /// The brand whose customers sign in if the caller names none.
  package var brandIdentity: String?
  package var clientID: String
  /// The name of the client secret in the credential store; nil means a public client.
  package var clientCredential: String?
  /// Which party redeems the authorization code: the daemon or the app's backend.
  package var exchange = PaysafeCodeExchange.daemon
  /// The number of seconds in which the app's backend must redeem a code.
  package var exchangeSeconds = 60
  package var redirect = Redirect.loopback
  /// Whether a sign-in first requests the config token, and then sends the fingerprint that comes
  /// with it.
  package var digitalFingerprint = true
  /// The member `deviceInfo.appType` of an SCA challenge; nil means that no `deviceInfo` is sent.
  package var appType: String?
  /// The number of seconds between two polls for an SCA event that the user completes on another
  /// device or page.
  package var pollSeconds = 3
  /// The calls of the wallet API that the flow `operation` may make; none by default.
  package var operations: [OperationPattern] = []
  package var paths = PaysafePaths()

  package init(baseURL: ProviderURL, clientID: String) {
    self.baseURL = baseURL
    self.clientID = clientID
  }

  package static var blank: PaysafeSettings { PaysafeSettings(baseURL: .blank, clientID: "") }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&baseURL, "base_url", violation: \.baseViolation)
    table.setting(&brandIdentity, "brand_identity") { name in
      name.isBrandIdentity ? nil : "must be up to 128 of A-Z a-z 0-9 . _ -"
    }
    table.required(&clientID, "client_id") { $0.visibleViolation(upTo: 1024) }
    table.setting(&clientCredential, "client_credential", violation: \.credentialViolation)
    table.setting(&exchange, "exchange")
    table.setting(&exchangeSeconds, "exchange_seconds", 5...600)
    table.setting(&redirect, "redirect")
    table.setting(&digitalFingerprint, "digital_fingerprint")
    table.setting(&appType, "app_type") { text in
      text.consists(upTo: 64) { $0.isWordByte || $0 == UInt8(ascii: "-") }
        ? nil : "must be up to 64 of A-Z a-z 0-9 _ -"
    }
    table.setting(&pollSeconds, "poll_seconds", 1...60)
    table.setting(&operations, "operations")
    table.table(&paths, "paths")
  }
}

/// Which party redeems the authorization code of a sign-in at Paysafe.
package enum PaysafeCodeExchange: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  /// The daemon, which holds the client secret.
  case daemon
  /// The app's own backend: the flow hands out the code, and the app submits the access token.
  case app
}

/// The paths of `[provider.paths]`: relative to the base URL, or absolute URLs.
package struct PaysafePaths: SettingsSection {
  package var authorize = ProviderPath("/auth/brands/{brandIdentity}/authorize")
  package var token = ProviderPath("/auth/brands/{brandIdentity}/token")
  package var challenge = ProviderPath("/auth/sca/events/{eventId}/challenges")
  package var attempt = ProviderPath("/auth/sca/events/{eventId}/attempts")
  package var event = ProviderPath("/auth/sca/events/{eventId}")

  package static var blank: PaysafePaths { PaysafePaths() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&authorize, "authorize") { $0.violation(placeholder: "brandIdentity") }
    table.setting(&token, "token") { $0.violation(placeholder: "brandIdentity") }
    table.setting(&challenge, "challenge") { $0.violation(placeholder: "eventId", isNeeded: true) }
    table.setting(&attempt, "attempt") { $0.violation(placeholder: "eventId", isNeeded: true) }
    table.setting(&event, "event") { $0.violation(placeholder: "eventId", isNeeded: true) }
  }
}

extension String {
  /// Whether the text is a valid brand name, which is a part of the path of an endpoint.
  package var isBrandIdentity: Bool {
    consists(upTo: 128) { $0.isWordByte || $0.isOne(of: ".-") } && self != "." && self != ".."
  }
}

extension PaysafeSettings: ProviderTypeSettings {
  package static let type = ProviderType.paysafe

  package var variety: ProviderVariety { .paysafe }
  package var tokenAddresses: [String] { [baseURL.text] + [paths.token].wholeURLs }
}
