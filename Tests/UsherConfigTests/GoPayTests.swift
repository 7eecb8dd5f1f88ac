import Testing
import UsherConfig
import UsherCore

@Suite("Providers of type gopay")
struct GoPayTests {
  /// `SampleTests.providerDefaults` compares each default with the installed sample.
  @Test("a gopay provider with only its two required ids loads; other settings have their defaults")
  func least() throws {
    let config = try load(identities)
    let settings = try gopay(config)
    #expect(settings == GoPaySettings(clientID: "acme-sdk", merchantID: "acme"))
    #expect(config.providers.first?.settings.type == .gopay)
  }

  @Test("every optional setting of a gopay provider is read")
  func most() throws {
    let settings = try gopay(
      load(
        identities + """
          exchange = "snap"
          exchange_seconds = 30
          redirect = "http://127.0.0.1:8767/callback"
          snap_base_url = "http://127.0.0.1:1/snap"
          identity_base_url = "http://127.0.0.1:2"
          capture_base_url = "http://127.0.0.1:3"
          exchange_url = "https://backend.example.com/exchange?for=gopay"
          exchange_credential = "backend"
          private_key_credential = "key"
          client_secret_credential = "secret"
          channel_id = "95221"
          callback_listen = "[::1]:8790"
          callback_credential = "callback"
          locale = "en"
          submission_type = "KTP_SCAN"
          poll_seconds = 1
          kyc_days = 90
          capture_seconds = 3600
          paths = { callback = "/gopay", submission = "/s/{submissionId}" }

          """))
    #expect(settings.exchange == .snap)
    #expect(settings.exchangeSeconds == 30)
    #expect(settings.snapBaseURL.port == 1)
    #expect(settings.identityBaseURL.port == 2)
    #expect(settings.captureBaseURL.port == 3)
    #expect(settings.exchangeURL?.hasQuery == true)
    #expect(settings.exchangeCredential == "backend")
    #expect(settings.privateKeyCredential == "key")
    #expect(settings.clientSecretCredential == "secret")
    #expect(settings.callbackCredential == "callback")
    #expect(settings.channelID == "95221")
    #expect(settings.callbackListen?.host == "::1")
    #expect(settings.locale == .en)
    #expect(settings.submissionType == "KTP_SCAN")
    #expect(settings.pollSeconds == 1)
    #expect(settings.kycDays == 90)
    #expect(settings.captureSeconds == 3600)
    #expect(settings.paths.callback.text == "/gopay")
    guard case .fixed(let redirect) = settings.redirect else {
      return #expect(Bool(false), "the redirect is not fixed")
    }
    #expect(redirect.port == 8767)
  }

  @Test("each gopay exchange mode reports all its missing keys at once")
  func needs() {
    #expect(
      problems(identities + "exchange = \"snap\"\n") == """
        usherd.toml:6:12: provider[0].exchange: "snap" needs private_key_credential
        usherd.toml:6:12: provider[0].exchange: "snap" needs client_secret_credential
        usherd.toml:6:12: provider[0].exchange: "snap" needs channel_id
        """)
    #expect(
      lineProblem("exchange = \"backend\"", in: identities) == "\"backend\" needs exchange_url")
    #expect(
      lineProblem("exchange = \"backend\"\nexchange_url = \"https://x.example\"", in: identities)
        .isEmpty)
    #expect(
      lineProblem(
        """
        exchange = "snap"
        private_key_credential = "k"
        client_secret_credential = "s"
        """, in: identities) == "\"snap\" needs channel_id")
  }

  @Test(
    "each gopay setting accepts valid values and refuses invalid ones",
    arguments: [
      ("exchange = \"app\"", true), ("exchange = \"daemon\"", false),
      ("exchange_seconds = 5", true), ("exchange_seconds = 600", true),
      ("exchange_seconds = 4", false), ("exchange_seconds = 601", false),
      ("redirect = \"http://127.0.0.1:1/x\"", true), ("redirect = \"https://x.example\"", false),
      ("snap_base_url = \"https://x.example/\"", false),
      ("snap_base_url = \"http://x.example\"", false),
      ("identity_base_url = \"https://x.example?x\"", false),
      ("identity_base_url = \"http://[::1]:1\"", true),
      ("capture_base_url = \"x.example\"", false), ("capture_base_url = \"https://x/y\"", true),
      ("exchange_url = \"http://x.example/\"", false),
      ("exchange_url = \"https://x.example/?a\"", true),
      ("channel_id = \"\"", false), ("channel_id = \"9 5\"", false),
      ("locale = \"id\"", true), ("locale = \"de\"", false), ("locale = \"ID\"", false),
      ("submission_type = \"\"", false), ("submission_type = \"A&b=c\"", false),
      ("poll_seconds = 0", false), ("poll_seconds = 60", true), ("poll_seconds = 61", false),
      ("kyc_days = 0", false), ("kyc_days = 1", true), ("kyc_days = 91", false),
      ("capture_seconds = 59", false), ("capture_seconds = 60", true),
      ("capture_seconds = 86400", true), ("capture_seconds = 86401", false),
      ("paths = { binding = \"/b\" }", true), ("paths = { binding = \"b\" }", false),
      ("paths = { unbinding = \"/b/{x}\" }", false), ("paths = { auth_code = \"/a?b\" }", false),
      ("paths = { b2b_token = \"https://x.example/t\" }", true),
      ("paths = { submission = \"/s\" }", false),
      ("paths = { submission = \"/{submissionId}/{submissionId}\" }", false),
      ("paths = { submission = \"https://x.example/{submissionId}\" }", true),
      ("paths = { callback = \"https://x.example/c\" }", false),
      ("paths = { callback = \"/c/{id}\" }", false), ("paths = { token = \"/t\" }", false),
    ])
  func settings(line: String, isFit: Bool) {
    #expect(
      lineProblem(line, in: identities).isEmpty == isFit, "\(lineProblem(line, in: identities))")
  }

  @Test(
    "gopay client_id and merchant_id must be up to 256 printable ASCII characters without spaces",
    arguments: ["", "a b", "a\\u0007", "ä", String(repeating: "x", count: 257)])
  func ids(text: String) {
    for (key, value) in [("client_id", "acme-sdk"), ("merchant_id", "acme")] {
      let changed = identities.replacing("\(key) = \"\(value)\"", with: "\(key) = \"\(text)\"")
      #expect(message(problems(changed)) == "must be printable ASCII without spaces")
    }
  }

  @Test(
    "each gopay credential key accepts only a valid credential name",
    arguments: [
      "exchange_credential", "private_key_credential", "client_secret_credential",
      "callback_credential",
    ])
  func credential(key: String) {
    #expect(lineProblem("\(key) = \"a.b_c-1\"", in: identities).isEmpty)
    let found = lineProblem("\(key) = \"../key\"", in: identities)
    #expect(found.hasPrefix("must be a credential's name"))
  }
}

@Suite("Listening address for provider callbacks")
struct LoopbackAddressTests {
  @Test(
    "a callback address of a loopback IP and a port is split into host and port",
    arguments: [
      ("127.0.0.1:8790", "127.0.0.1", 8790), ("127.9.9.9:1", "127.9.9.9", 1),
      ("[::1]:65535", "::1", 65_535),
    ])
  func loopback(text: String, host: String, port: Int) throws {
    let address = try LoopbackAddress(setting: text)
    #expect(address.host == host)
    #expect(address.port == port)
    #expect(address.settingText == text)
  }

  @Test(
    "callback_listen refuses every address but a loopback IP with a port",
    arguments: [
      "", "8790", ":8790", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
      "127.0.0.1:+80", "127.0.0.1: 80", "127.0.0.1:80/", "127.0.0.1:80/x", "127.0.0.1:80?x",
      "127.0.0.1:80#x", "http://127.0.0.1:80", "u@127.0.0.1:80", "localhost:80", "0.0.0.0:80",
      "192.168.1.1:80", "127.1:80", "127.0.0.256:80", "[::]:80", "[::1]", "::1:80",
      "[::ffff:127.0.0.1]:80", "example.com:80", "/run/usherd/callback.sock",
    ])
  func other(text: String) {
    #expect(
      lineProblem("callback_listen = \"\(text)\"", in: identities)
        == "must be \"127.0.0.1:PORT\" or \"[::1]:PORT\"")
  }
}
