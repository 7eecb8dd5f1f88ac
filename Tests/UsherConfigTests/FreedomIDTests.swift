import FoundationEssentials
import Testing
import UsherConfig
import UsherCore

@Suite("Providers of type freedomid")
struct FreedomIDTests {
  /// `SampleTests.providerDefaults` compares each default with the installed sample.
  @Test("a freedomid provider in device mode needs only its API key; other keys have defaults")
  func least() throws {
    let config = try load(people)
    var least = FreedomIDSettings(mode: .device)
    least.apiKeyCredential = "freedom-api-key"
    let settings = try freedomid(config)
    #expect(settings == least)
    #expect(config.providers.first?.settings.type == .freedomid)
    #expect(settings.baseURL.text == "https://passport.freedompay.kz")
    #expect(settings.credentialName == "freedom-api-key")
    #expect(settings.consentDays == 0 && settings.asksAlways && settings.grantDays == 365)
  }

  @Test("every setting of a freedomid provider in oauth2 mode is read")
  func most() throws {
    let settings = try freedomid(
      load(
        partner("oauth2") + """
          base_url = "http://127.0.0.1:1/freedomid"
          consent_days = 30
          redirect = "http://127.0.0.1:8768/callback"
          api_base_url = "http://127.0.0.1:2"
          poll_seconds = 1
          request_seconds = 3600
          callback_listen = "127.0.0.1:8791"
          scopes = ["openid", "profile"]
          pkce = true
          paths = { revoke = "/revoke", user = "https://users.example/u" }
          endpoints = { jwks = "https://keys.example/jwks" }

          """))
    #expect(settings.mode == .oauth2)
    #expect(settings.baseURL.port == 1)
    #expect(settings.consentDays == 30 && settings.grantDays == 30 && !settings.asksAlways)
    #expect(settings.apiBaseURL.port == 2)
    #expect(settings.pollSeconds == 1)
    #expect(settings.requestSeconds == 3600)
    #expect(settings.callbackListen?.port == 8791)
    #expect(settings.scopes == ["openid", "profile"])
    #expect(settings.pkce)
    #expect(settings.paths.revoke.text == "/revoke")
    #expect(settings.paths.user.url(under: settings.apiBaseURL) == "https://users.example/u")
    #expect(settings.endpoints.jwks?.text == "https://keys.example/jwks")
    #expect(settings.credentialName == "freedom-secret")
    guard case .fixed(let redirect) = settings.redirect else {
      Issue.record("the redirect is not fixed")
      return
    }
    #expect(redirect.port == 8768)
  }

  @Test("a freedomid provider without a mode, or with an unknown one, has exactly one problem")
  func mode() {
    #expect(
      problems("[[provider]]\nname = \"x\"\ntype = \"freedomid\"\n")
        == "usherd.toml:1:1: provider[0].mode: is missing")
    let found = problems(people.replacing("\"device\"", with: "\"saml\""))
    #expect(found.hasPrefix("usherd.toml:4:8: provider[0].mode: "))
    #expect(found.split(separator: "\n").count == 1)
  }

  @Test("each freedomid mode reports all its missing keys at once")
  func needs() {
    let bare = "[[provider]]\nname = \"x\"\ntype = \"freedomid\"\n"
    #expect(
      problems(bare + "mode = \"device\"\n")
        == "usherd.toml:4:8: provider[0].mode: \"device\" needs api_key_credential")
    for mode in ["oauth2", "oidc"] {
      #expect(
        problems(bare + "mode = \"\(mode)\"\n") == """
          usherd.toml:4:8: provider[0].mode: "\(mode)" needs client_id
          usherd.toml:4:8: provider[0].mode: "\(mode)" needs client_credential
          """)
      #expect(problems(partner(mode)).isEmpty)
    }
  }

  @Test(
    "each freedomid setting accepts valid values and refuses invalid ones",
    arguments: [
      ("base_url = \"https://x.example/\"", false), ("base_url = \"http://x.example\"", false),
      ("base_url = \"https://x.example?x\"", false), ("base_url = \"http://[::1]:1\"", true),
      ("base_url = \"http://localhost:1/x\"", true), ("base_url = \"x.example\"", false),
      ("api_base_url = \"https://x.example/\"", false), ("api_base_url = \"https://x/y\"", true),
      ("consent_days = -1", false), ("consent_days = 0", true), ("consent_days = 3650", true),
      ("consent_days = 3651", false), ("consent_days = \"1\"", false),
      ("poll_seconds = 0", false), ("poll_seconds = 1", true), ("poll_seconds = 60", true),
      ("poll_seconds = 61", false),
      ("request_seconds = 59", false), ("request_seconds = 60", true),
      ("request_seconds = 86400", true), ("request_seconds = 86401", false),
      ("client_id = \"\"", false), ("client_id = \"a b\"", false), ("client_id = \"ä\"", false),
      ("client_credential = \"../key\"", false), ("client_credential = \"a.b_c-1\"", true),
      ("redirect = \"http://127.0.0.1:1/x\"", true), ("redirect = \"https://x.example\"", false),
      ("redirect = \"http://127.0.0.1:1/x?y\"", false),
      ("callback_listen = \"0.0.0.0:1\"", false), ("callback_listen = \"[::1]:1\"", true),
      ("scopes = []", false), ("scopes = [\"profile\"]", false), ("scopes = [\"openid\"]", true),
      ("pkce = 1", false), ("pkce = true", true),
      ("paths = { accounts = \"/a\" }", true), ("paths = { accounts = \"a\" }", false),
      ("paths = { token = \"/t/{x}\" }", false), ("paths = { token = \"/t?x\" }", false),
      ("paths = { token = \"https://x.example/t\" }", true),
      ("paths = { token = \"http://x.example/t\" }", false),
      ("paths = { revoke = \"/r\" }", true), ("paths = { revoke = \"/r/{id}\" }", false),
      ("paths = { revoke = \"https://x.example/r\" }", false),
      ("paths = { login = \"/l\" }", false),
      ("endpoints = { jwks = \"http://x.example/\" }", false),
      ("exchange = \"app\"", false),
    ])
  func settings(line: String, isFit: Bool) {
    #expect(lineProblem(line, in: people).isEmpty == isFit, "\(lineProblem(line, in: people))")
  }

  @Test(
    "freedomid mode oidc yields OIDC settings with a JSON token request and two own endpoints")
  func oidc() throws {
    var settings = try freedomid(load(partner("oidc"))).oidc
    #expect(settings.issuer.text == "https://passport.freedompay.kz")
    #expect(settings.clientID == "acme")
    #expect(settings.clientCredential == "freedom-secret")
    #expect(settings.clientAuth == .basic)
    #expect(settings.tokenRequest == .json)
    #expect(!settings.pkce)
    #expect(settings.endpoints.authorization?.text == "https://passport.freedompay.kz/openid")
    #expect(
      settings.endpoints.token?.text == "https://passport.freedompay.kz/api/v1/oidc/token")
    #expect(settings.endpoints.jwks == nil && settings.endpoints.userinfo == nil)
    settings =
      try freedomid(
        load(
          partner("oidc") + """
            pkce = true
            endpoints = { token = "https://x.example/t", jwks = "https://x.example/j" }
            paths = { openid = "/o", openid_token = "/p" }

            """)
      ).oidc
    #expect(settings.pkce)
    #expect(settings.endpoints.authorization?.text == "https://passport.freedompay.kz/o")
    #expect(settings.endpoints.token?.text == "https://x.example/t")
    #expect(settings.endpoints.jwks?.text == "https://x.example/j")
  }

  @Test("each freedomid mode has its own provider variety")
  func variety() throws {
    let varieties = try [people, partner("oauth2"), partner("oidc")].map { text in
      try load(text).providers.first?.settings.variety
    }
    #expect(varieties == [.freedomidDevice, .freedomidOAuth2, .freedomidOIDC])
  }
}
