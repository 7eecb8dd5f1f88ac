import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

@Suite("Code exchange of Paysafe authorize by the app")
struct PaysafeHandoverTests {
  private func driven(
    account: KnownAccount? = nil, _ exchange: PaysafeCodeExchange = .app,
    _ change: (inout PaysafeAuthorize.Params) -> Void = { _ in }
  ) throws -> Driven {
    var driven = try Driven(account: account, change) { $0.exchange = exchange }
    driven.toExchange()
    return driven
  }

  private static let bind: @Sendable (inout PaysafeAuthorize.Params) -> Void = {
    $0.state = WireSecret("caller-state-1")
    $0.codeChallenge = String(repeating: "A", count: 43)
  }

  private static func success(
    _ claims: JSONValue = ["sub": "c-1"], _ more: [String: String] = [:]
  ) -> FlowEvent<PaysafeCall> {
    let fields = ["accessToken": Driven.token(claims)].merging(more.mapValues { Secret($0) }) { $1 }
    return .input(.exchanged(fields))
  }

  @Test("Paysafe authorize hands the app the code, the verifier and a deadline of one minute")
  func step() throws {
    var driven = try Driven(settings: { $0.exchange = .app })
    driven.toBrowser()
    let challenge = driven.query["code_challenge"]
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    #expect(driven.last == .proceed([.stopListening, .wake(after: .seconds(60))]))
    #expect(driven.flow.view.state == "exchanging")
    let step = try #require(driven.exchangeStep)
    #expect(step.credential == .init(type: .authCode, code: WireSecret("code-secret")))
    #expect(step.codeVerifier.map { PKCE.challenge(of: $0.secret) } == challenge)
    #expect(step.redirectURI == Driven.redirectURI)
    #expect(step.requestId == "req-1")
    #expect(step.deadline == now + .seconds(60))
  }

  @Test(
    "a caller's own code challenge makes Paysafe authorize hand over the code without a verifier")
  func callersChallenge() throws {
    for exchange in PaysafeCodeExchange.allCases {
      let driven = try driven(exchange, Self.bind)
      #expect(driven.exchangeStep?.credential.code == WireSecret("code-secret"))
      #expect(driven.exchangeStep != nil && driven.exchangeStep?.codeVerifier == nil)
      #expect(driven.calls == [])
    }
  }

  @Test("Paysafe authorize makes the account from the access token that the app hands in")
  func success() throws {
    var driven = try driven { $0.keepAlive = true }
    driven.clock = now + .seconds(59)
    driven.receive(
      Self.success(
        ["sub": "c-1", "name": "Ada", "exp": 1], ["expiresIn": "900", "refreshToken": "r-secret"]))
    let grant = try #require(driven.grant)
    #expect(grant.subject == "c-1" && grant.label == "Ada" && grant.keepAlive)
    #expect(grant.attributes == ["brandIdentity": "acme"])
    #expect(grant.tokens?.tokenType == "Bearer")
    #expect(grant.tokens?.expiresAt == now + .seconds(959))
    #expect(grant.tokens?.refreshToken?.unsealed() == Secret("r-secret"))
    #expect(grant.tokens?.refreshExpiresAt == now + .seconds(1859))
  }

  @Test("Paysafe authorize uses the token's integer exp if the app hands in no expiresIn")
  func expiry() throws {
    let cases: [(JSONValue, Timestamp?)] = [
      (["sub": "c-1"], nil), (["sub": "c-1", "exp": 1_800_000_500], now + .seconds(500)),
      (["sub": "c-1", "exp": "1800000500"], nil), (["sub": "c-1", "exp": 1.5e9], nil),
    ]
    for (claims, expiry) in cases {
      var driven = try driven()
      driven.receive(Self.success(claims))
      #expect(driven.grant?.tokens?.expiresAt == expiry)
      #expect(driven.grant?.tokens?.refreshToken == nil)
      #expect(driven.grant?.tokens?.refreshExpiresAt == nil)
    }
  }

  @Test("Paysafe authorize refuses a wrong field from the app and does not change")
  func wrong() throws {
    let token = Driven.token().revealed()
    let long = token + String(repeating: "x", count: 65_537 - token.utf8.count)
    let cases: [(String, [String: String])] = [
      ("accessToken", [:]), ("accessToken", ["refreshToken": "r"]),
      ("accessToken", ["accessToken": ""]), ("accessToken", ["accessToken": "opaque"]),
      ("accessToken", ["accessToken": token + "\n"]), ("accessToken", ["accessToken": token + "ü"]),
      ("accessToken", ["accessToken": long]),
      ("accessToken", ["accessToken": Driven.token(["sub": ""]).revealed()]),
      ("accessToken", ["accessToken": Driven.token(["name": "Ada"]).revealed()]),
      ("expiresIn", ["accessToken": token, "expiresIn": ""]),
      ("expiresIn", ["accessToken": token, "expiresIn": "-1"]),
      ("expiresIn", ["accessToken": token, "expiresIn": "15m"]),
      ("expiresIn", ["accessToken": token, "expiresIn": "9.5"]),
      ("expiresIn", ["accessToken": token, "expiresIn": "315360001"]),
      ("expiresIn", ["accessToken": token, "expiresIn": "99999999999999999999"]),
      ("refreshToken", ["accessToken": token, "refreshToken": ""]),
      ("refreshToken", ["accessToken": token, "refreshToken": "a b"]),
      ("access_token", ["access_token": token]),
      ("idToken", ["accessToken": token, "idToken": token]),
    ]
    var driven = try driven()
    let before = driven.flow
    for (field, fields) in cases {
      driven.receive(.input(.exchanged(fields.mapValues { Secret($0) })))
      guard case .refuse("input.success.\(field)", let message) = driven.last else {
        Issue.record("the input is not refused: \(fields.keys)")
        continue
      }
      #expect(!message.contains(token) && message.hasPrefix("input.success.\(field) "))
      #expect(driven.flow == before)
    }
    driven.receive(Self.success())
    #expect(driven.grant != nil)
  }

  @Test("Paysafe authorize accepts tokens of up to 64 KiB and an expiresIn of up to ten years")
  func longest() throws {
    let token = Driven.token().revealed()
    let long = token + String(repeating: "x", count: 65_536 - token.utf8.count)
    var driven = try driven()
    driven.receive(
      .input(.exchanged(["accessToken": Secret(long), "expiresIn": Secret("315360000")])))
    #expect(driven.grant?.tokens?.expiresAt == now + .seconds(315_360_000))
  }

  @Test("Paysafe authorize fails if the app's token names another subject than the account's")
  func otherAccount() throws {
    var driven = try driven(account: KnownAccount(id: AccountID("acc_1"), subject: "c-9"))
    driven.receive(Self.success())
    #expect(driven.failure == .otherPerson)
  }

  @Test("Paysafe authorize fails with the app's cleaned reason if the app cannot redeem the code")
  func failed() throws {
    for (reason, message) in [
      ("invalid_grant", "the app could not redeem the code: invalid_grant"),
      ("a\u{1B}[0m\nb", "the app could not redeem the code: a[0m b"),
      (" ", "the app could not redeem the code"),
    ] {
      var driven = try driven()
      driven.receive(.input(.exchangeFailed(reason: reason)))
      #expect(driven.failure?.reason == .exchangeFailed)
      #expect(driven.failure?.message == message)
    }
  }

  @Test("Paysafe authorize fails with a time-out at any event after the app's deadline")
  func deadline() throws {
    for event in [
      FlowEvent<PaysafeCall>.woken, .resumed, Self.success(),
      .input(.exchangeFailed(reason: "late")),
    ] {
      var driven = try driven()
      driven.clock = now + .seconds(60)
      driven.receive(event)
      #expect(driven.failure?.reason == .exchangeTimedOut)
      #expect(driven.failure?.retryable == true)
    }
  }

  @Test("the app's deadline at Paysafe authorize is configurable")
  func otherDeadline() throws {
    var driven = try Driven(settings: {
      $0.exchange = .app
      $0.exchangeSeconds = 300
    })
    driven.toExchange()
    #expect(driven.effects.last == .wake(after: .seconds(300)))
    #expect(driven.exchangeStep?.deadline == now + .seconds(300))
  }

  @Test("a timer of Paysafe authorize that fires early is set again for the time that is left")
  func early() throws {
    var driven = try driven()
    driven.clock = now + .seconds(59)
    let before = driven.flow
    #expect(driven.receive(.woken) == .proceed([.wake(after: .seconds(1))]))
    #expect(driven.flow == before)
  }

  @Test("a restored Paysafe authorize keeps the app's step and the time that is left")
  func restart() throws {
    var driven = try driven()
    let view = driven.flow.view
    driven.clock = now + .seconds(20)
    try driven.restart()
    #expect(driven.last == .proceed([.wake(after: .seconds(40))]))
    #expect(driven.flow.view == view)
    driven.receive(Self.success())
    #expect(driven.grant != nil)
  }

  @Test("Paysafe authorize refuses to go back from the app's exchange step")
  func back() throws {
    var driven = try driven()
    driven.receive(.input(.back(.exchangeCredential)))
    #expect(driven.refusedField == "input.back")
  }
}
