import FoundationEssentials
import Testing
import UsherConfig
import UsherCore

@Suite("Providers of type paysafe")
struct PaysafeTests {
  /// Returns the provider `wallet` with `line` in place of its line for the same key, if any.
  private static func text(_ line: String) -> String {
    let key = line.prefix { $0 != " " }
    let others = wallet.split(separator: "\n").filter { !$0.hasPrefix(key + " ") }
    return others.joined(separator: "\n") + "\n" + line + "\n"
  }

  /// `SampleTests.providerDefaults` compares each default with the installed sample.
  @Test("a paysafe provider with only its required keys loads; other settings have their defaults")
  func least() throws {
    let config = try load(wallet)
    let expected = PaysafeSettings(
      baseURL: try ProviderURL(setting: "https://api.example.com/v1"), clientID: "acme-wallet")
    #expect(
      config.providers
        == [ProviderConfig(name: ProviderName("wallet"), settings: expected)])
    #expect(config.providers.first?.settings.type == .paysafe)
  }

  @Test("the default paths of a paysafe provider have the documented values")
  func paths() {
    let paths = PaysafePaths.blank
    #expect(paths.authorize.settingText == "/auth/brands/{brandIdentity}/authorize")
    #expect(paths.token.settingText == "/auth/brands/{brandIdentity}/token")
    #expect(paths.challenge.settingText == "/auth/sca/events/{eventId}/challenges")
    #expect(paths.attempt.settingText == "/auth/sca/events/{eventId}/attempts")
    #expect(paths.event.settingText == "/auth/sca/events/{eventId}")
  }

  @Test("every setting of a paysafe provider is read")
  func everything() throws {
    let settings = try paysafe(load(full))
    #expect(settings.baseURL.text == "http://127.0.0.1:4600/paysafe")
    #expect(settings.brandIdentity == "acme")
    #expect(settings.clientCredential == "paysafe-client-secret")
    #expect(settings.exchange == .app)
    #expect([settings.exchangeSeconds, settings.pollSeconds] == [5, 60])
    #expect(settings.redirect.settingText == "http://127.0.0.1:8766/callback")
    #expect(!settings.digitalFingerprint)
    #expect(settings.appType == "WEB_APP")
    #expect(
      settings.operations.map(\.settingText) == ["GET:/wallets/*", "*:/wallets/*/payments"])
    #expect(settings.paths.token.settingText == "https://id.example.com/{brandIdentity}/token")
    #expect(settings.paths.event.settingText == "/events/{eventId}")
    #expect(settings.paths.attempt == PaysafePaths.blank.attempt)
  }

  private let full = """
    [[provider]]
    name = "wallet"
    type = "paysafe"
    proxy = "http://proxy.example.com:3128"
    base_url = "http://127.0.0.1:4600/paysafe"
    brand_identity = "acme"
    client_id = "acme-wallet"
    client_credential = "paysafe-client-secret"
    exchange = "app"
    exchange_seconds = 5
    redirect = "http://127.0.0.1:8766/callback"
    digital_fingerprint = false
    app_type = "WEB_APP"
    poll_seconds = 60
    operations = ["GET:/wallets/*", "*:/wallets/*/payments"]
    [provider.paths]
    token = "https://id.example.com/{brandIdentity}/token"
    event = "/events/{eventId}"

    """

  @Test("a paysafe provider loads the same from config show and from JSON, and defaults are shown")
  func roundTrip() throws {
    for text in [wallet, full] {
      let config = try load(text)
      #expect(try load(config.show()) == config)
      let provider = try #require(config.providers.first)
      let json = try JSONEncoder().encode(provider)
      #expect(try JSONDecoder().decode(ProviderConfig.self, from: json) == provider)
    }
    let shown = try load(wallet).show()
    #expect(shown.contains("digital_fingerprint = true\n"))
    #expect(shown.contains("operations = []\n"))
    #expect(shown.contains("\n[provider.paths]\nauthorize = \"/auth/brands/{brandIdentity}/aut"))
    #expect(!shown.contains("brand_identity"))
  }

  @Test("in a Paysafe provider, a key of another provider type is an unknown key")
  func otherType() {
    #expect(
      problems(wallet + "issuer = \"https://id.example.com\"\n")
        == "usherd.toml:6:1: provider[0].issuer: unknown key")
    #expect(
      problems(provider + "base_url = \"https://api.example.com\"\n")
        == "usherd.toml:6:1: provider[0].base_url: unknown key")
    #expect(
      problems(wallet + "[provider.endpoints]\ntoken = \"https://t.example\"\n")
        == "usherd.toml:6:11: provider[0].endpoints: unknown key")
    #expect(
      problems(wallet + "[provider.paths]\nchallenges = \"/x\"\n")
        == "usherd.toml:7:1: provider[0].paths.challenges: unknown key; did you mean challenge?")
  }

  /// Returns a line that sets `key` to a string of `count` bytes.
  private static func long(_ key: String, _ count: Int) -> String {
    "\(key) = \"\(String(repeating: "a", count: count))\""
  }

  private static let choices = "must be one of \"daemon\", \"app\""
  private static let credential = "must be a credential's name: up to 128 of A-Z a-z 0-9 . _ -"
  private static let brand = "must be up to 128 of A-Z a-z 0-9 . _ -"
  private static let kind = "must be up to 64 of A-Z a-z 0-9 _ -"
  private static let visible = "must be printable ASCII without spaces"
  private static let base = "must have no query and no trailing slash"

  @Test(
    "an invalid value of a paysafe setting is a problem that names line, column and key",
    arguments: [
      ("base_url = \"https://api.example.com/v1/\"", base),
      ("base_url = \"https://api.example.com/\"", base),
      ("base_url = \"https://api.example.com/v1?a=b\"", base),
      ("base_url = \"http://api.example.com\"", "must be https; http is for loopback hosts only"),
      ("base_url = \"https://api.example.com/{brandIdentity}\"", URLProblem.characters),
      ("base_url = \"/digitalwallets/v1\"", "must be an absolute http or https URL"),
      ("base_url = 1", "expected a string, found an integer"),
      ("brand_identity = \"\"", brand), ("brand_identity = \".\"", brand),
      ("brand_identity = \"..\"", brand), ("brand_identity = \"a/b\"", brand),
      ("brand_identity = \"a%2Fb\"", brand), ("brand_identity = \"acmé\"", brand),
      (long("brand_identity", 129), brand),
      ("client_id = \"\"", visible), ("client_id = \"acme wallet\"", visible),
      ("client_id = \"acmé\"", visible),
      (long("client_id", 1025), visible),
      ("client_credential = \"../x\"", credential), ("client_credential = \"\"", credential),
      ("exchange = \"backend\"", choices), ("exchange = \"App\"", choices),
      ("exchange = true", "expected a string, found a boolean"),
      ("exchange_seconds = 4", "must be between 5 and 600, is 4"),
      ("exchange_seconds = 601", "must be between 5 and 600, is 601"),
      ("exchange_seconds = \"60\"", "expected an integer, found a string"),
      ("redirect = \"https://app.example.com/\"", URLProblem.redirect),
      ("digital_fingerprint = \"true\"", "expected true or false, found a string"),
      ("digital_fingerprint = 1", "expected true or false, found an integer"),
      ("digital_fingerprint = []", "expected true or false, found an array"),
      ("app_type = \"\"", kind), ("app_type = \"WEB APP\"", kind), ("app_type = \"a.b\"", kind),
      (long("app_type", 65), kind),
      ("poll_seconds = 0", "must be between 1 and 60, is 0"),
      ("poll_seconds = 61", "must be between 1 and 60, is 61"),
      ("operations = \"GET:/x\"", "expected an array, found a string"),
      ("paths = \"/x\"", "expected a table, found a string"),
    ] as [(String, String)])
  func refusals(line: String, problem: String) throws {
    let key = line.prefix { $0 != " " }
    let text = Self.text(line)
    let place = "usherd.toml:\(text.split(separator: "\n").count):\(key.utf8.count + 4)"
    #expect(problems(text) == "\(place): provider[0].\(key): \(problem)")
  }

  private enum URLProblem {
    static let characters = "is not a URL: empty, too long or with characters a URL cannot have"
    static let redirect =
      "must be \"loopback\", \"localhost\", \"http://127.0.0.1/PATH\" or "
      + "\"http://127.0.0.1:PORT/PATH\""
  }

  @Test(
    "each paysafe setting accepts values at its limits",
    arguments: [
      "base_url = \"https://api.example.com\"", "base_url = \"http://127.0.0.1:4600/paysafe\"",
      "brand_identity = \"Acme_1.0-x\"", "brand_identity = \"...\"",
      long("brand_identity", 128),
      "client_id = \"a/b?c\"", "client_credential = \"wallet.secret_1-x\"",
      "exchange = \"daemon\"", "exchange = \"app\"", "exchange_seconds = 5",
      "exchange_seconds = 600", "redirect = \"loopback\"",
      "redirect = \"http://[::1]:8766/callback\"", "digital_fingerprint = true",
      "digital_fingerprint = false", "app_type = \"IOS_APP-2\"",
      long("app_type", 64), "poll_seconds = 1",
      "poll_seconds = 60", "operations = []", "operations = [\"*:/*\"]", "paths = {}",
      "connect_timeout_seconds = 1", "ca_file = \"/etc/ca.pem\"",
    ])
  func edges(line: String) {
    #expect(problems(Self.text(line)) == "")
  }

  @Test("each invalid entry of a paysafe operations list is reported with its own place")
  func operationPlace() {
    #expect(
      problems(wallet + "operations = [\"GET:/x\",\n  \"GET x\", 7]\n") == """
        usherd.toml:7:3: provider[0].operations[1]: must be "METHOD:/path", where METHOD is GET, POST, \
        PUT, PATCH, DELETE or *
        usherd.toml:7:12: provider[0].operations[2]: expected a string, found an integer
        """)
  }

  @Test(
    "an invalid paysafe path is a problem that names line, column and key",
    arguments: [
      ("authorize", "/auth/{brand}/authorize", mayHave), ("token", "/{eventId}/token", mayHave),
      ("token", "/{brandIdentity}/{brandIdentity}", mayHave),
      ("token", "https://id.example.com{}", mayHave),
      ("token", "/{{brandIdentity}", mayHave), ("token", "/{brandIdentity}}", mayHave),
      ("challenge", "/events/{brandIdentity}/challenges", mustHave),
      ("challenge", "/events/challenges", mustHave), ("attempt", "/attempts", mustHave),
      ("event", "/events", mustHave), ("event", "/events/{eventId", mustHave),
      ("token", "auth/token", "must be an absolute http or https URL"),
      ("token", "http://id.example.com/t", "must be https; http is for loopback hosts only"),
      ("token", "/token?x=1", "must have no query"),
    ])
  func pathPlace(key: String, path: String, problem: String) {
    let column = key.utf8.count + 4
    let expected = problem.replacing(
      "PLACE", with: ["authorize", "token"].contains(key) ? "brandIdentity" : "eventId")
    #expect(
      problems(wallet + "[provider.paths]\n\(key) = \"\(path)\"\n")
        == "usherd.toml:7:\(column): provider[0].paths.\(key): \(expected)")
  }

  private static let mayHave = "may have {PLACE} once and no other placeholder in braces"
  private static let mustHave = "must have {PLACE} once and no other placeholder in braces"

  @Test("the paysafe token and authorize paths may omit the brand")
  func oneBrand() throws {
    let text = "[provider.paths]\ntoken = \"/token\"\nauthorize = \"https://id.example.com/a\"\n"
    let paths = try paysafe(load(wallet + text)).paths
    #expect([paths.token, paths.authorize].map(\.text) == ["/token", "https://id.example.com/a"])
  }
}
