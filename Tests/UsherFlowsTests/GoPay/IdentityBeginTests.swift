import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

private let link = LinkingToken.token(Secret("linking-secret"))

@Suite("Verify with GoPay: how it begins")
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
    "the first call is for the receiver; a given token wins over the account's", arguments: rows)
  func firstCall(row: Row) throws {
    let driven = try Driven(row.receiver, token: row.token, account: row.account)
    #expect(driven.state == row.state && driven.problem == nil)
    #expect(driven.flow.view.step.kind == .wait)
    #expect(driven.last == .proceed([.call(row.call)]))
  }

  @Test("with neither, a listener is opened for the log-in page")
  func listener() throws {
    let driven = try Driven()
    #expect(driven.state == "preparing")
    #expect(driven.calls == [] && driven.effects.count == 1)
    let expectation = try #require(driven.expectation)
    #expect(expectation.host == "127.0.0.1" && expectation.port == nil)
    #expect(expectation.path == "/callback" && expectation.form == .gopay)
  }

  @Test("a fixed redirect is listened for where it is")
  func fixedRedirect() throws {
    let provider = try gopay {
      $0.redirect = try Redirect(setting: "http://127.0.0.1:8767/gopay")
    }
    let expectation = try #require(try Driven(provider: provider).expectation)
    #expect(expectation.port == 8767 && expectation.path == "/gopay")
  }

  @Test("an app that gets the redirect itself is shown the page at once")
  func redirectURI() throws {
    let driven = try Driven { $0.redirectURI = "https://partner.example/cb" }
    #expect(driven.state == "login" && driven.last == .proceed([]))
    #expect(driven.page?.redirectURI == "https://partner.example/cb")
    #expect(driven.page?.completes == .submit)
  }

  @Test("its name and what it says of itself")
  func kind() {
    #expect(VerifyIdentity.kind == "verify" && !VerifyIdentity.needsAccount)
    #expect(VerifyIdentity.judgesRequestID)
    #expect(ProviderRegistry.flow("verify", of: .gopay) is VerifyIdentity.Type)
  }
}

@Suite("Verify with GoPay: what is missing is GPE-2206, and no call")
struct IdentityMissingTests {
  private func check(_ driven: Driven, _ field: String, _ state: String) {
    #expect(driven.code == "GPE-2206")
    #expect(driven.failure?.reason == .invalidRequest && driven.failure?.retryable == false)
    #expect(driven.failure?.provider?.title == "Required field missing")
    #expect(driven.failure?.message.contains(field) == true)
    #expect(driven.clearUp == [] && driven.state == state)
  }

  @Test("a requestId that is absent, blank or no header's")
  func requestID() throws {
    let long = String(repeating: "r", count: 129)
    for id in [nil, "", " ", "\t\n", "\u{00A0}", "a b", "ä", "a\r\nb", "a\u{7F}", "a\u{0}", long] {
      check(try Driven(token: "linking-secret", requestID: id), "requestId", "authCode")
    }
  }

  @Test("a userCorrelationId likewise")
  func correlationID() throws {
    let long = String(repeating: "c", count: 257)
    for id in [nil, "", " ", "\u{3000}", "a b", "é", "a\nb", long] {
      check(try Driven(correlationID: id), "userCorrelationId", "preparing")
    }
    let whole = String(repeating: "c", count: 256)
    #expect(try Driven(correlationID: whole).failure == nil)
  }

  @Test("a token that no header can carry")
  func token() throws {
    let long = String(repeating: "t", count: 4097)
    for token in ["", " ", "a b", "ü", "a\r\nX-Evil: 1", long] {
      check(try Driven(.none, token: token), "token", "kyc")
      check(try Driven(token: token), "token", "authCode")
    }
    #expect(try Driven(.none, token: String(repeating: "t", count: 4096)).failure == nil)
  }

  @Test("no token and no account where nothing is exchanged")
  func noToken() throws {
    check(try Driven(.none), "token", "kyc")
  }

  @Test("what is said of it has no secret")
  func secrecy() throws {
    let driven = try Driven(.none, token: "linking secret")
    #expect(driven.failure?.message.contains("linking") == false)
  }

  @Test("a restart ends it as well")
  func restart() throws {
    var driven = try Driven(requestID: nil)
    #expect(driven.receive(.woken) == .ignore)
    try driven.restart()
    #expect(driven.code == "GPE-2206")
  }
}

@Suite("Verify with GoPay: its parameters")
struct IdentityParamsTests {
  private func field(_ change: (inout VerifyIdentity.Params) -> Void) -> String? {
    do {
      _ = try Driven(token: "linking-secret", change)
      return nil
    } catch {
      let error = error as? UsherError
      return error?.reason == .invalidParams ? error?.detail.field : "?"
    }
  }

  @Test("the reserved featureId is refused, even where something is missing")
  func featureID() throws {
    #expect(field { $0.featureId = "verify" } == "params.featureId")
    #expect(field { $0.featureId = "" } == "params.featureId")
    #expect(throws: UsherError.self) {
      try Driven(requestID: nil, correlationID: nil) { $0.featureId = "x" }
    }
  }

  @Test("addresses are https, or http on the loopback")
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

  @Test("an account is of the same userCorrelationId")
  func otherAccount() throws {
    let other = KnownAccount(id: AccountID("acc_9"), subject: "corr-9")
    let error = #expect(throws: UsherError.self) { try Driven(.none, account: other) }
    #expect(error?.detail.field == "params.account")
    // Somebody who names nobody is told so by the flow.
    #expect(try Driven(.none, account: other, correlationID: " ").code == "GPE-2206")
  }

  @Test("they are read strictly")
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

@Suite("Verify with GoPay: credentials that an exchange lacks are GPE-2201 at once")
struct IdentityCredentialTests {
  @Test("the backend's, where one is named")
  func backend() throws {
    let provider = try gopay(.backend) { $0.exchangeCredential = "gopay-exchange" }
    let driven = try Driven(provider: provider)
    #expect(driven.code == "GPE-2201")
    #expect(driven.failure?.reason == .providerRejected && driven.failure?.retryable == false)
    #expect(driven.failure?.message.hasSuffix("usherctl credential set gopay-exchange") == true)
    #expect(driven.clearUp == [])
    let set = ["gopay-exchange": Secret("s")]
    #expect(try Driven(provider: provider, credentials: set).failure == nil)
    #expect(try Driven(provider: gopay(.backend), credentials: [:]).failure == nil)
  }

  @Test("SNAP's key and secret; a key that is none is said to be none")
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

  @Test("not where nothing is exchanged, and not where the app does it")
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
