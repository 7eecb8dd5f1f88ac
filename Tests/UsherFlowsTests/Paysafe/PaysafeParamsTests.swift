import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize
private typealias Change = @Sendable (inout PaysafeAuthorize.Params) -> Void

private let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

@Suite("Parameters of Paysafe authorize")
struct PaysafeParamsTests {
  private static let bad: [(field: String, change: Change)] = [
    ("brandIdentity", { $0.brandIdentity = "" }), ("brandIdentity", { $0.brandIdentity = "a/b" }),
    ("brandIdentity", { $0.brandIdentity = ".." }), ("brandIdentity", { $0.brandIdentity = "ä" }),
    ("brandIdentity", { $0.brandIdentity = String(repeating: "x", count: 129) }),
    ("redirectURI", { $0.redirectURI = "" }), ("redirectURI", { $0.redirectURI = "/callback" }),
    ("redirectURI", { $0.redirectURI = "http://partner.example/cb" }),
    ("redirectURI", { $0.redirectURI = "https://partner.example/cb#x" }),
    ("redirectURI", { $0.redirectURI = "https://partner.example/cb#" }),
    ("redirectURI", { $0.redirectURI = "https://user@partner.example/cb" }),
    ("redirectURI", { $0.redirectURI = "app.partner:/cb" }),
    ("redirectURI", { $0.redirectURI = "javascript:alert(1)" }),
    ("redirectURI", { $0.redirectURI = "https://partner.example/c b" }),
    (
      "redirectURI", { $0.redirectURI = "https://p.example/" + String(repeating: "x", count: 2048) }
    ),
    ("resetCredentialsURL", { $0.resetCredentialsURL = "reset" }),
    ("resetCredentialsURL", { $0.resetCredentialsURL = "http://partner.example/reset" }),
    ("resetCredentialsURL", { $0.resetCredentialsURL = "https://partner.example/#a b" }),
    ("resetCredentialsURL", { $0.resetCredentialsURL = "https://partner.example/#\u{7F}" }),
    (
      "resetCredentialsURL",
      { $0.resetCredentialsURL = "https://p.example/#" + String(repeating: "x", count: 2048) }
    ),
    ("locale", { $0.locale = "" }), ("locale", { $0.locale = "e" }),
    ("locale", { $0.locale = "en-" }),
    ("locale", { $0.locale = "en--GB" }), ("locale", { $0.locale = "12-GB" }),
    ("locale", { $0.locale = "en GB" }), ("locale", { $0.locale = "en-G\u{0}" }),
    ("locale", { $0.locale = "englishlanguage" }), ("locale", { $0.locale = "en-abcdefghi" }),
    ("locale", { $0.locale = "en" + String(repeating: "-abcdefgh", count: 7) }),
    ("loginHint", { $0.loginHint = "" }), ("loginHint", { $0.loginHint = " \u{A0}" }),
    ("loginHint", { $0.loginHint = "a\u{1B}[0m" }), ("loginHint", { $0.loginHint = "a\nb" }),
    ("loginHint", { $0.loginHint = String(repeating: "x", count: 1025) }),
    ("codeChallenge", { $0.state = WireSecret("12345678") }),
    ("state", { $0.codeChallenge = challenge }),
    ("state", { $0.bind(String(repeating: "s", count: 7)) }),
    ("state", { $0.bind(String(repeating: "s", count: 513)) }),
    ("state", { $0.bind("with space") }), ("state", { $0.bind("ümlauts-1") }),
    ("state", { $0.bind("12345678\u{7F}") }),
    ("codeChallenge", { $0.bind("12345678", "") }),
    ("codeChallenge", { $0.bind("12345678", challenge + "A") }),
    ("codeChallenge", { $0.bind("12345678", String(challenge.dropLast())) }),
    ("codeChallenge", { $0.bind("12345678", challenge.dropLast() + "=") }),
    ("codeChallenge", { $0.bind("12345678", challenge.dropLast() + "+") }),
    ("codeChallenge", { $0.bind("12345678", challenge.dropLast(2) + "ü") }),
  ]

  @Test(
    "Paysafe authorize refuses an invalid parameter with an error that names it",
    arguments: bad.indices)
  func refused(index: Int) throws {
    let (field, change) = Self.bad[index]
    let error = #expect(throws: UsherError.self) { try Driven(change) }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == "params.\(field)")
    #expect(error?.message.hasPrefix("params.\(field) ") == true)
  }

  private static let good: [Change] = [
    { $0.brandIdentity = String(repeating: "x", count: 128) },
    { $0.locale = "en" }, { $0.locale = "zh-Hant-TW" }, { $0.locale = "es-419" },
    { $0.locale = "de-CH-1996" }, { $0.loginHint = String(repeating: "x", count: 1024) },
    { $0.loginHint = "Ünal ☎" },
    { $0.resetCredentialsURL = "http://127.0.0.1:9/reset" },
    { $0.bind("12345678") }, { $0.bind(String(repeating: "~", count: 512)) },
  ]

  @Test(
    "Paysafe authorize accepts parameters at the edge of the allowed range",
    arguments: good.indices)
  func taken(index: Int) throws {
    #expect(try Driven(Self.good[index]).failure == nil)
  }

  @Test("the plain http redirectURI of the SDK's example needs the caller's own codeChallenge")
  func plainRedirect() throws {
    let example = "http://www.partner.com/wallet/dashboard"
    let driven = try Driven {
      $0.redirectURI = example
      $0.bind("random-string")
    }
    #expect(driven.page?.redirectURI == example)
    for wrong in ["http://", "http://a b", "http://user@partner.example/", "http://p.example/#x"] {
      let error = #expect(throws: UsherError.self) {
        try Driven {
          $0.redirectURI = wrong
          $0.bind("random-string")
        }
      }
      #expect(error?.detail.field == "params.redirectURI")
    }
  }

  @Test("Paysafe authorize needs a brand from the caller if the configuration names none")
  func noBrand() throws {
    let nobodys: (inout PaysafeSettings) -> Void = { $0.brandIdentity = nil }
    let error = #expect(throws: UsherError.self) { try Driven(settings: nobodys) }
    #expect(error?.detail.field == "params.brandIdentity")
    var driven = try Driven({ $0.brandIdentity = "globex" }, settings: nobodys)
    driven.toBrowser()
    #expect(driven.page?.url.contains("/brands/globex/") == true)
  }

  @Test("Paysafe authorize refuses unknown or mistyped parameters")
  func strictly() throws {
    let schema = StrictDecoding.schema(of: PaysafeAuthorize.Params.self)
    func read(_ json: JSONValue) throws(UsherError) -> PaysafeAuthorize.Params {
      try StrictDecoding.decode(
        PaysafeAuthorize.Params.self, from: json, schema: schema, prefix: "params")
    }
    let whole = try read([
      "brandIdentity": "acme", "redirectURI": "https://p.example", "locale": "en",
      "resetCredentialsURL": "https://p.example", "loginHint": "ada", "loginStrategy": "password",
      "account": "acc_1", "keepAlive": true, "state": "12345678", "codeChallenge": "c",
      "clientIdentifier": "acme-wallet",
    ])
    #expect(whole.loginStrategy == .password && whole.state == WireSecret("12345678"))
    for (field, json) in [
      ("params.loginStrategy", ["loginStrategy": "PIN"]), ("params.scope", ["scope": "openid"]),
      ("params.loginStrategy", ["loginStrategy": "passkey"]), ("params.state", ["state": 1]),
      ("params.keepAlive", ["keepAlive": "yes"]), ("params.redirectUri", ["redirectUri": "x"]),
    ] as [(String, JSONValue)] {
      let error = #expect(throws: UsherError.self) { try read(json) }
      #expect(error?.reason == .invalidParams && error?.detail.field == field)
    }
  }
}

@Suite("Client identifier of Paysafe authorize")
struct PaysafeClientIdentifierTests {
  @Test("Paysafe authorize compares clientIdentifier with client_id and does not keep it")
  func same() throws {
    let driven = try Driven { $0.clientIdentifier = WireSecret("acme-wallet") }
    #expect(driven.flow.view.state == "preparing")
    #expect(driven.flow == (try Driven().flow))
  }

  @Test(
    "a clientIdentifier of another client fails Paysafe authorize with dataError",
    arguments: ["", "acme", "ACME-WALLET"])
  func other(identifier: String) throws {
    let driven = try Driven(credential: "secret") { $0.clientIdentifier = WireSecret(identifier) }
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.provider?.code == "dataError")
    #expect(driven.failure?.retryable == false)
    #expect(driven.calls == [])
  }

  @Test("Paysafe authorize does not store the clientIdentifier")
  func notStored() throws {
    let driven = try Driven { $0.clientIdentifier = WireSecret("canary-identifier") }
    #expect(try !stored(driven.flow).contains("canary-identifier"))
  }
}

extension PaysafeAuthorize.Params {
  fileprivate mutating func bind(_ state: String, _ challenge: some StringProtocol = challenge) {
    self.state = WireSecret(state)
    codeChallenge = String(challenge)
  }
}
