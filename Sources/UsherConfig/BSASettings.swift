/// The settings of a provider of type `bsa`: Blockchain Secure Authentication.
package struct BSASettings: SettingsSection {
  /// The URL to which every path of the API is appended.
  package var baseURL = ProviderURL(host: "api.fnsbsa.com", path: "/api/v3")
  /// The name of the clientKey in the credential store. The daemon sends the clientKey in every
  /// request.
  package var clientKeyCredential: String
  /// The registered bundle identifier of the app.
  package var appPackage: String
  package var appVersion: String
  /// The language of the vendor's texts: a language tag (RFC 5646).
  package var lang = "en"
  /// The page where the user types a number that the daemon shows; nil means the base URL.
  package var siteURL: ProviderURL?
  package var deviceName = "usherd"
  package var deviceManufacturer = "Linux"
  package var osVersion = "Linux"
  /// The number of digits of a code that is sent by mail or SMS.
  package var otpDigits = 6
  /// The number of seconds after which the daemon refuses a code that was sent by mail or SMS; nil
  /// leaves that to BSA.
  package var otpSeconds: Int?
  /// The number of seconds until the daemon sends another code; nil leaves that to BSA.
  package var resendSeconds: Int?
  /// The maximum number of codes that one verification sends; nil leaves that to BSA.
  package var maxCodes: Int?
  /// The number of wrong codes with which a verification ends; nil leaves that to BSA.
  package var maxWrongCodes: Int?
  /// The number of seconds for which a local authentication is valid for a sign-up.
  package var localAuthSeconds = 300
  /// Whether users can register without local authentication.
  package var allowNoLocalAuth = true
  /// Whether callers may check if a user is registered at the provider.
  package var registrationChecks = true
  /// The number of seconds between two polls for a waiting sign-in.
  package var pollSeconds = 2
  package var totp = TOTPSettings()
  package var paths = BSAPaths()

  package init(clientKeyCredential: String, appPackage: String, appVersion: String) {
    self.clientKeyCredential = clientKeyCredential
    self.appPackage = appPackage
    self.appVersion = appVersion
  }

  package static var blank: BSASettings {
    BSASettings(clientKeyCredential: "", appPackage: "", appVersion: "")
  }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&baseURL, "base_url", violation: \.baseViolation)
    table.required(&clientKeyCredential, "client_key_credential", violation: \.credentialViolation)
    table.required(&appPackage, "app_package") { $0.visibleViolation(upTo: 256) }
    table.required(&appVersion, "app_version") { $0.visibleViolation(upTo: 256) }
    table.setting(&lang, "lang") { tag in
      tag.isLanguageTag ? nil : "must be a language tag, such as \"en\""
    }
    table.setting(&siteURL, "site_url")
    table.setting(&deviceName, "device_name", violation: Self.line)
    table.setting(&deviceManufacturer, "device_manufacturer", violation: Self.line)
    table.setting(&osVersion, "os_version", violation: Self.line)
    table.setting(&otpDigits, "otp_digits", 4...10)
    table.limit(&otpSeconds, "otp_seconds", 30...3600)
    table.limit(&resendSeconds, "resend_seconds", 1...3600)
    table.limit(&maxCodes, "max_codes", 1...100)
    table.limit(&maxWrongCodes, "max_wrong_codes", 1...100)
    table.setting(&localAuthSeconds, "local_auth_seconds", 10...3600)
    table.setting(&allowNoLocalAuth, "allow_no_local_auth")
    table.setting(&registrationChecks, "registration_checks")
    table.setting(&pollSeconds, "poll_seconds", 1...60)
    table.table(&totp, "totp")
    table.table(&paths, "paths")
  }

  private static func line(_ text: String) -> String? {
    text.consists(upTo: 256) { $0.isVisible || $0 == UInt8(ascii: " ") }
      ? nil : "must be up to 256 of printable ASCII"
  }
}

/// The parameters of an account's one-time codes (RFC 6238): `[provider.totp]`. The defaults are
/// BSA's (provider contract §5.7).
package struct TOTPSettings: SettingsSection {
  package var digits = 6
  package var periodSeconds = 60
  package var algorithm = TOTPAlgorithm.sha1
  /// Whether each client gets the code of a time step only once.
  package var singleUse = false

  package static var blank: TOTPSettings { TOTPSettings() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&digits, "digits", 6...8)
    table.setting(&periodSeconds, "period_seconds", 10...300)
    table.setting(&algorithm, "algorithm")
    table.setting(&singleUse, "single_use")
  }
}

/// The hash of a one-time code's HMAC (RFC 6238 §1.2).
package enum TOTPAlgorithm: String, TextSetting, Codable, CaseIterable, Equatable, Sendable {
  case sha1 = "SHA1"
  case sha256 = "SHA256"
  case sha512 = "SHA512"
}

/// The paths of `[provider.paths]`: relative to the base URL, or absolute URLs.
package struct BSAPaths: SettingsSection {
  package var duplicateCheck = ProviderPath("/users/common/duplicate-check")
  package var idCheck = ProviderPath("/idcheck")
  package var mail = ProviderPath("/mail")
  package var sms = ProviderPath("/sms")
  package var mailVerify = ProviderPath("/mail/verify")
  package var smsVerify = ProviderPath("/sms/verify")
  package var users = ProviderPath("/users")
  package var sendOTP = ProviderPath("/users/send-otp")
  package var device = ProviderPath("/users/{userKey}/device")
  package var deviceCheck = ProviderPath("/device/check")
  package var authExist = ProviderPath("/auth/exist")
  package var auth = ProviderPath("/auth")
  package var authComplete = ProviderPath("/auth/complete")
  package var otpGenerate = ProviderPath("/otp/generate")
  package var otp = ProviderPath("/otp/{code}")

  package static var blank: BSAPaths { BSAPaths() }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&duplicateCheck, "duplicate_check", violation: \.plainViolation)
    table.setting(&idCheck, "id_check", violation: \.plainViolation)
    table.setting(&mail, "mail", violation: \.plainViolation)
    table.setting(&sms, "sms", violation: \.plainViolation)
    table.setting(&mailVerify, "mail_verify", violation: \.plainViolation)
    table.setting(&smsVerify, "sms_verify", violation: \.plainViolation)
    table.setting(&users, "users", violation: \.plainViolation)
    table.setting(&sendOTP, "send_otp", violation: \.plainViolation)
    table.setting(&device, "device") { $0.violation(placeholder: "userKey", isNeeded: true) }
    table.setting(&deviceCheck, "device_check", violation: \.plainViolation)
    table.setting(&authExist, "auth_exist", violation: \.plainViolation)
    table.setting(&auth, "auth", violation: \.plainViolation)
    table.setting(&authComplete, "auth_complete", violation: \.plainViolation)
    table.setting(&otpGenerate, "otp_generate", violation: \.plainViolation)
    table.setting(&otp, "otp") { $0.violation(placeholder: "code", isNeeded: true) }
  }
}

extension SettingsTable {
  /// Binds a number that must be within a range; nil if the file does not contain it.
  fileprivate func limit(_ value: inout Int?, _ key: String, _ range: ClosedRange<Int>) {
    setting(&value, key) { number in
      range.contains(number)
        ? nil : "must be between \(range.lowerBound) and \(range.upperBound), is \(number)"
    }
  }
}

extension String {
  /// Whether the text is a language tag of up to 35 bytes. Each subtag has 1 to 8 letters and
  /// digits, the first one only letters (RFC 5646 §2.1).
  fileprivate var isLanguageTag: Bool {
    let subtags = split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard utf8.count <= 35, let first = subtags.first else { return false }
    return first.consists(upTo: 8, of: \.isLetter)
      && subtags.allSatisfy { $0.consists(upTo: 8) { $0.isLetter || $0.isDigit } }
  }
}

extension BSASettings: ProviderTypeSettings {
  package static let type = ProviderType.bsa

  package var variety: ProviderVariety { .bsa }
  package var tokenAddresses: [String] { [baseURL.text] }
  package var oneTimeCodes: TOTPSettings? { totp }
}
