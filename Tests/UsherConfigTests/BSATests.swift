import FoundationEssentials
import Testing
import UsherConfig
import UsherCore

@Suite("Providers of type bsa")
struct BSATests {
  /// `SampleTests.providerDefaults` compares each default with the installed sample.
  @Test("a bsa provider with only its three required keys loads; other keys have their defaults")
  func least() throws {
    let config = try load(members)
    let least = BSASettings(
      clientKeyCredential: "bsa-client-key", appPackage: "com.example.app", appVersion: "1.0.0")
    let settings = try bsa(config)
    #expect(settings == least)
    #expect(config.providers.first?.settings.type == .bsa)
    #expect(config.providers.first?.settings.variety == .bsa)
    #expect(settings.baseURL.text == "https://api.fnsbsa.com/api/v3")
    #expect(settings.baseURL.host == "api.fnsbsa.com")
  }

  @Test("a bsa provider limits nobody by default, and answers registration checks")
  func open() throws {
    let settings = try bsa(load(members))
    #expect([settings.otpSeconds, settings.resendSeconds] == [nil, nil])
    #expect([settings.maxCodes, settings.maxWrongCodes] == [nil, nil])
    #expect(settings.allowNoLocalAuth && settings.registrationChecks)
  }

  @Test("every optional setting of a bsa provider is read")
  func most() throws {
    let settings = try bsa(
      load(
        members + """
          base_url = "http://127.0.0.1:1/bsa"
          lang = "pt-BR"
          site_url = "https://login.example.com/code"
          device_name = "front desk"
          device_manufacturer = "Acme"
          os_version = "6.12"
          otp_digits = 8
          otp_seconds = 60
          resend_seconds = 5
          max_codes = 3
          max_wrong_codes = 4
          local_auth_seconds = 30
          allow_no_local_auth = false
          registration_checks = false
          poll_seconds = 1
          totp = { digits = 8, period_seconds = 30, algorithm = "SHA256", single_use = true }
          paths = { users = "/members", otp = "https://numbers.example/{code}" }

          """))
    #expect(settings.baseURL.port == 1)
    #expect(settings.clientKeyCredential == "bsa-client-key")
    #expect([settings.appPackage, settings.appVersion] == ["com.example.app", "1.0.0"])
    #expect(settings.lang == "pt-BR")
    #expect(settings.siteURL?.text == "https://login.example.com/code")
    #expect(settings.deviceName == "front desk")
    #expect([settings.deviceManufacturer, settings.osVersion] == ["Acme", "6.12"])
    #expect(settings.otpDigits == 8)
    #expect([settings.otpSeconds, settings.resendSeconds] == [60, 5])
    #expect([settings.localAuthSeconds, settings.pollSeconds] == [30, 1])
    #expect([settings.maxCodes, settings.maxWrongCodes] == [3, 4])
    #expect(!settings.allowNoLocalAuth)
    #expect(!settings.registrationChecks)
    #expect([settings.totp.digits, settings.totp.periodSeconds] == [8, 30])
    #expect(settings.totp.algorithm == .sha256)
    #expect(settings.totp.singleUse)
    let users = settings.paths.users.url(under: settings.baseURL)
    #expect(users == "http://127.0.0.1:1/bsa/members")
    let otp = settings.paths.otp.url(under: settings.baseURL, "code", "12/34")
    #expect(otp == "https://numbers.example/12%2F34")
  }

  @Test("an empty, spaced, non-ASCII or overlong value of a required bsa key is refused by name")
  func required() {
    for key in ["client_key_credential", "app_package", "app_version"] {
      for value in ["", "a b", "ä", String(repeating: "a", count: 257)] {
        let lines = members.split(separator: "\n").map { line in
          line.hasPrefix("\(key) ") ? "\(key) = \"\(value)\"" : String(line)
        }
        let found = problems(lines.joined(separator: "\n"))
        let line = lines.firstIndex { $0.hasPrefix("\(key) ") }.map { $0 + 1 } ?? 0
        let place = "usherd.toml:\(line):\(key.count + 4): provider[0].\(key): must be "
        #expect(found.hasPrefix(place), "\(found)")
        #expect(found.split(separator: "\n").count == 1)
      }
    }
  }

  @Test(
    "each bsa setting accepts valid values and refuses invalid ones",
    arguments: [
      ("base_url = \"https://x.example/\"", false), ("base_url = \"http://x.example\"", false),
      ("base_url = \"https://x.example?x\"", false), ("base_url = \"http://[::1]:1\"", true),
      ("base_url = \"x.example\"", false),
      ("site_url = \"https://x.example/?a=b\"", true), ("site_url = \"http://x.example\"", false),
      ("site_url = \"\"", false),
      ("lang = \"en\"", true), ("lang = \"zh-Hant-TW\"", true), ("lang = \"i-klingon\"", true),
      ("lang = \"\"", false), ("lang = \"-\"", false), ("lang = \"en-\"", false),
      ("lang = \"-en\"", false), ("lang = \"en_US\"", false), ("lang = \"1n\"", false),
      ("lang = \"abcdefghi\"", false), ("lang = \"en--US\"", false), ("lang = \"e n\"", false),
      ("lang = \"en-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd\"", false), ("lang = 1", false),
      ("device_name = \"a b\"", true), ("device_name = \"\"", false),
      ("device_name = \"a\\nb\"", false), ("device_name = \"ä\"", false),
      ("device_manufacturer = \"\"", false), ("device_manufacturer = \"A & B\"", true),
      ("os_version = \"\\t\"", false), ("os_version = \"13 (trixie)\"", true),
      ("otp_digits = 3", false), ("otp_digits = 4", true), ("otp_digits = 10", true),
      ("otp_digits = 11", false), ("otp_digits = \"6\"", false),
      ("otp_seconds = 29", false), ("otp_seconds = 30", true), ("otp_seconds = 3600", true),
      ("otp_seconds = 3601", false),
      ("resend_seconds = 0", false), ("resend_seconds = 1", true),
      ("resend_seconds = 3600", true), ("resend_seconds = 3601", false),
      ("max_codes = 0", false), ("max_codes = 1", true), ("max_codes = 101", false),
      ("max_wrong_codes = 0", false), ("max_wrong_codes = 100", true),
      ("local_auth_seconds = 9", false), ("local_auth_seconds = 10", true),
      ("local_auth_seconds = 3600", true), ("local_auth_seconds = 3601", false),
      ("allow_no_local_auth = 1", false), ("registration_checks = \"yes\"", false),
      ("poll_seconds = 0", false), ("poll_seconds = 1", true), ("poll_seconds = 60", true),
      ("poll_seconds = 61", false),
      ("totp = { digits = 5 }", false), ("totp = { digits = 6 }", true),
      ("totp = { digits = 8 }", true), ("totp = { digits = 9 }", false),
      ("totp = { period_seconds = 9 }", false), ("totp = { period_seconds = 10 }", true),
      ("totp = { period_seconds = 300 }", true), ("totp = { period_seconds = 301 }", false),
      ("totp = { algorithm = \"SHA512\" }", true), ("totp = { algorithm = \"sha1\" }", false),
      ("totp = { algorithm = \"MD5\" }", false), ("totp = { single_use = 1 }", false),
      ("totp = { secret = \"x\" }", false), ("totp = true", false),
      ("paths = { mail = \"/m\" }", true), ("paths = { mail = \"m\" }", false),
      ("paths = { mail = \"/m/{userKey}\" }", false), ("paths = { mail = \"/m?x\" }", false),
      ("paths = { mail = \"https://x.example/m\" }", true),
      ("paths = { mail = \"http://x.example/m\" }", false),
      ("paths = { device = \"/d\" }", false), ("paths = { device = \"/d/{userKey}\" }", true),
      ("paths = { device = \"/{userKey}/{userKey}\" }", false),
      ("paths = { device = \"/{userKey}/{code}\" }", false),
      ("paths = { otp = \"/o\" }", false), ("paths = { otp = \"/{code}/o\" }", true),
      ("paths = { otp = \"https://{code}.example/o\" }", false),
      ("paths = { websocket = \"/w\" }", false),
      ("exchange = \"app\"", false),
    ])
  func settings(line: String, isFit: Bool) {
    #expect(lineProblem(line, in: members).isEmpty == isFit, "\(lineProblem(line, in: members))")
  }

  @Test("a problem in a bsa provider names line, column and key, also inside totp and paths")
  func places() {
    let found = problems(
      members + """
        lang = "_"
        poll_seconds = 0
        [provider.totp]
        digits = 5
        algorithm = "MD5"
        [provider.paths]
        device = "/d"

        """)
    #expect(
      found == """
        usherd.toml:7:8: provider[0].lang: must be a language tag, such as "en"
        usherd.toml:8:16: provider[0].poll_seconds: must be between 1 and 60, is 0
        usherd.toml:10:10: provider[0].totp.digits: must be between 6 and 8, is 5
        usherd.toml:11:13: provider[0].totp.algorithm: must be one of "SHA1", "SHA256", "SHA512"
        usherd.toml:13:10: provider[0].paths.device: \
        must have {userKey} once and no other placeholder in braces
        """)
  }
}
