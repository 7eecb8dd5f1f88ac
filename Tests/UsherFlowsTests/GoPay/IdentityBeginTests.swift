import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

private let link = LinkingToken.token(Sealed(Secret("linking-secret")))

@Suite("Start of GoPay verify")
struct IdentityBeginTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let receiver: VerifyIdentity.CredentialReceiver
    var token: String?
    var account: KnownAccount?
    let state: String
    let call: GoPayCall

    var testDescription: String { "\(receiver) \(token ?? "-") \(account?.subject ?? "-")" }
  }

  private static let mine = LinkingToken.account(Driven.knownAccount.id)
  private static let rows = [
    Row(
      receiver: .none, token: "linking-secret", state: "kyc",
      call: .temporaryToken(link, requestID: "req-1")),
    Row(
      receiver: .none, account: Driven.knownAccount, state: "current",
      call: .currentSubmission(mine, requestID: "req-1")),
    Row(
      receiver: .none, token: "linking-secret", account: Driven.knownAccount, state: "current",
      call: .currentSubmission(link, requestID: "req-1")),
    Row(
      receiver: .exchange, token: "linking-secret", state: "authCode",
      call: .authCode(link, correlationID: "corr-5678", requestID: "req-1")),
    Row(
      receiver: .exchange, account: Driven.knownAccount, state: "authCode",
      call: .authCode(mine, correlationID: "corr-5678", requestID: "req-1")),
    Row(
      receiver: .exchange, token: "linking-secret", account: Driven.knownAccount,
      state: "authCode", call: .authCode(link, correlationID: "corr-5678", requestID: "req-1")),
  ]

  @Test(
    "GoPay verify's first call depends on its credential receiver, its token and its account",
    arguments: rows)
  func firstCall(row: Row) throws {
    let driven = try Driven(row.receiver, token: row.token, account: row.account)
    #expect(driven.state == row.state && driven.problem == nil)
    #expect(driven.flow.view.step.kind == .wait)
    #expect(driven.last == .proceed([.call(row.call)]))
  }

  @Test("GoPay verify without a token and an account opens a listener for the log-in page")
  func listener() throws {
    let driven = try Driven()
    #expect(driven.state == "preparing")
    #expect(driven.calls == [] && driven.effects.count == 1)
    let expectation = try #require(driven.expectation)
    #expect(expectation.host == "127.0.0.1" && expectation.port == nil)
    #expect(expectation.path == "/callback" && expectation.form == .gopay)
  }

  @Test("GoPay verify listens at the port and path of the configured redirect")
  func fixedRedirect() throws {
    let provider = try gopay {
      $0.redirect = try Redirect(setting: "http://127.0.0.1:8767/gopay")
    }
    let expectation = try #require(try Driven(provider: provider).expectation)
    #expect(expectation.port == 8767 && expectation.path == "/gopay")
  }

  @Test("GoPay verify with the app's own redirectURI shows the log-in page at once")
  func redirectURI() throws {
    let driven = try Driven { $0.redirectURI = "https://partner.example/cb" }
    #expect(driven.state == "login" && driven.last == .proceed([]))
    #expect(driven.page?.redirectURI == "https://partner.example/cb")
    #expect(driven.page?.completes == .submit)
  }

  @Test("GoPay verify needs no account and checks its requestId itself")
  func kind() {
    #expect(VerifyIdentity.kind == "verify" && !VerifyIdentity.needsAccount)
    #expect(VerifyIdentity.judgesRequestID)
    #expect(ProviderRegistry.flow("verify", of: .gopay) is VerifyIdentity.Type)
  }
}

@Suite("Missing parameters of GoPay verify (GPE-2206)")
struct IdentityMissingTests {
  private func check(_ driven: Driven, _ field: String, _ state: String) {
    #expect(driven.code == "GPE-2206")
    #expect(driven.failure?.reason == .invalidRequest && driven.failure?.retryable == false)
    #expect(driven.failure?.provider?.title == "Required field missing")
    #expect(driven.failure?.message.contains(field) == true)
    #expect(driven.cleanUp == [] && driven.state == state)
  }

  @Test("a blank or absent requestId fails GoPay verify with GPE-2206 before any call")
  func requestID() throws {
    for id in [nil, "", " ", "\t\n", "\r\n", "\u{00A0}"] {
      check(try Driven(token: "linking-secret", requestID: id), "requestId", "authCode")
    }
  }

  @Test("a blank or absent userCorrelationId fails GoPay verify with GPE-2206 before any call")
  func correlationID() throws {
    for id in [nil, "", " ", "\t\n", "\u{3000}"] {
      check(try Driven(correlationID: id), "userCorrelationId", "preparing")
    }
  }

  @Test("GoPay verify accepts a requestId and a userCorrelationId of any text that is not blank")
  func anyText() throws {
    let texts = [
      "Müller 42", " a ", "日本語", "a%20b", "\u{200B}", String(repeating: "ä", count: 2048),
    ]
    for text in texts {
      let driven = try Driven(token: "linking-secret", requestID: text, correlationID: text)
      #expect(driven.failure == nil)
      #expect(driven.calls == [.authCode(link, correlationID: text, requestID: text)])
    }
  }

  @Test("GoPay verify takes a linking token as it is, with spaces or other characters")
  func anyToken() throws {
    for token in ["a b", "ü", String(repeating: "t", count: 4096)] {
      let driven = try Driven(.none, token: token)
      #expect(
        driven.calls == [.temporaryToken(.token(Sealed(Secret(token))), requestID: "req-1")])
    }
  }

  @Test("a blank token is no token: GoPay verify shows the log-in page or uses the account's token")
  func blankToken() throws {
    for token in ["", " ", "\t"] {
      #expect(try Driven(token: token).state == "preparing")
      let account = Driven.knownAccount
      let driven = try Driven(token: token, account: account)
      let call = GoPayCall.authCode(
        .account(account.id), correlationID: "corr-5678", requestID: "req-1")
      #expect(driven.calls == [call])
      check(try Driven(.none, token: token), "token", "kyc")
    }
  }

  @Test("GoPay verify with the receiver none fails with GPE-2206 without a token or an account")
  func noToken() throws {
    check(try Driven(.none), "token", "kyc")
  }

  @Test("a GoPay verify without a requestId fails the same way after a restart")
  func restart() throws {
    var driven = try Driven(requestID: nil)
    #expect(driven.receive(.woken) == .ignore)
    try driven.restart()
    #expect(driven.code == "GPE-2206")
  }
}

@Suite("Parameters of GoPay verify")
struct IdentityParamsTests {
  @Test("a control character or more than 4096 bytes is refused with the field, without its value")
  func unsendable() throws {
    let long = String(repeating: "x", count: 4097)
    for text in ["a\nb", "a\r\nX-Evil: 1", "a\u{0}", "a\u{7F}", "a\u{85}", long] {
      let starts: [(String, () throws -> Driven)] = [
        ("requestId", { try Driven(requestID: text) }),
        ("params.userCorrelationId", { try Driven(correlationID: text) }),
        ("params.token", { try Driven(token: text) }),
      ]
      for (field, start) in starts {
        let error = #expect(throws: UsherError.self) { try start() }
        #expect(error?.reason == .invalidParams && error?.detail.field == field)
        #expect(error?.message.contains("Evil") == false)
      }
    }
  }

  private func field(_ change: (inout VerifyIdentity.Params) -> Void) -> String? {
    do {
      _ = try Driven(token: "linking-secret", change)
      return nil
    } catch {
      let error = error as? UsherError
      return error?.reason == .invalidParams ? error?.detail.field : "?"
    }
  }

  @Test("GoPay verify refuses the reserved featureId, even if required parameters are missing")
  func featureID() throws {
    #expect(field { $0.featureId = "verify" } == "params.featureId")
    #expect(field { $0.featureId = "" } == "params.featureId")
    #expect(throws: UsherError.self) {
      try Driven(requestID: nil, correlationID: nil) { $0.featureId = "x" }
    }
  }

  @Test("redirectURI and returnUrl of GoPay verify must be https, or http on the loopback")
  func addresses() {
    for url in ["http://partner.example/", "javascript:alert(1)", "app:/cb", "", "https://a/#x"] {
      #expect(field { $0.redirectURI = url } == "params.redirectURI")
      #expect(field { $0.returnUrl = url } == "params.returnUrl")
    }
    for url in ["https://partner.example/back?x=1", "http://127.0.0.1:9/x", "http://[::1]:9/"] {
      #expect(field { $0.redirectURI = url } == nil)
      #expect(field { $0.returnUrl = url } == nil)
    }
  }

  @Test("GoPay verify refuses an account that has another userCorrelationId")
  func otherAccount() throws {
    let other = KnownAccount(id: AccountID("acc_9"), subject: "corr-9")
    let error = #expect(throws: UsherError.self) { try Driven(.none, account: other) }
    #expect(error?.detail.field == "params.account")
    // A blank userCorrelationId is a failure of the flow, not a refusal of the account.
    #expect(try Driven(.none, account: other, correlationID: " ").code == "GPE-2206")
  }

  @Test("GoPay verify refuses unknown, missing and mistyped parameters")
  func strictly() throws {
    let schema = StrictDecoding.schema(of: VerifyIdentity.Params.self)
    func read(_ json: JSONValue) throws -> VerifyIdentity.Params {
      try StrictDecoding.decode(VerifyIdentity.Params.self, from: json, schema: schema)
    }
    let params = try read([
      "userCorrelationId": "c", "credentialReceiver": "none", "token": "t", "locale": "en",
      "account": "acc_1", "redirectURI": "https://a", "returnUrl": "https://b",
    ])
    #expect(params.token?.secret == Secret("t") && params.locale == .en)
    #expect(params.credentialReceiver == .none && params.account == AccountID("acc_1"))
    #expect(try read(["credentialReceiver": "exchange"]).userCorrelationId == nil)
    let wrong: [JSONValue] = [
      [:], ["credentialReceiver": "maybe"], ["credentialReceiver": "none", "locale": "de"],
      ["credentialReceiver": "none", "token": 1], ["credentialReceiver": "none", "requestId": "r"],
    ]
    for params in wrong { #expect(throws: UsherError.self) { try read(params) } }
  }
}

@Suite("Missing credentials of GoPay verify (GPE-2201)")
struct IdentityCredentialTests {
  @Test("GoPay verify fails with GPE-2201 if the backend's configured credential is not set")
  func backend() throws {
    let provider = try gopay(.backend) { $0.exchangeCredential = "gopay-exchange" }
    let driven = try Driven(provider: provider)
    #expect(driven.code == "GPE-2201")
    #expect(driven.failure?.reason == .providerRejected && driven.failure?.retryable == false)
    #expect(driven.failure?.message.hasSuffix("usherctl credential set gopay-exchange") == true)
    #expect(driven.cleanUp == [])
    let set = ["gopay-exchange": Secret("s")]
    #expect(try Driven(provider: provider, credentials: set).failure == nil)
    #expect(try Driven(provider: gopay(.backend), credentials: [:]).failure == nil)
  }

  @Test(
    "GoPay verify by SNAP fails with GPE-2201 if the client secret or a usable RSA key is missing")
  func snap() throws {
    let secret = ("secret", Secret("client-secret"))
    let cases: [([(String, Secret)], String)] = [
      ([], "set key"), ([secret], "set key"), ([("key", PartnerKeys.good)], "set secret"),
      ([("key", Secret("no key")), secret], "2048 bits or more"),
      ([("key", PartnerKeys.short), secret], "2048 bits or more"),
    ]
    for (credentials, sentence) in cases {
      let credentials = Dictionary(uniqueKeysWithValues: credentials)
      let driven = try Driven(provider: gopay(.snap), credentials: credentials)
      #expect(driven.code == "GPE-2201")
      #expect(driven.failure?.message.contains(sentence) == true)
      #expect(driven.failure?.message.contains("no key") == false)
    }
    #expect(try Driven(provider: gopay(.snap)).failure == nil)
  }

  @Test("GoPay verify needs no credential if nothing is exchanged, or if the app does it")
  func notNeeded() throws {
    for exchange in GoPayExchange.allCases {
      let provider = try gopay(exchange) { $0.exchangeCredential = "gopay-exchange" }
      let driven = try Driven(.none, token: "t", provider: provider, credentials: [:])
      #expect(driven.failure == nil)
    }
    let provider = try gopay(.app) { $0.exchangeCredential = "gopay-exchange" }
    #expect(try Driven(provider: provider, credentials: [:]).failure == nil)
  }
}
