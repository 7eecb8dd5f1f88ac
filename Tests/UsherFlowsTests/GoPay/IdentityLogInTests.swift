import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("The log-in page of GoPay verify")
struct IdentityLogInTests {
  private func driven(
    _ provider: ProviderConfig? = nil, _ change: (inout VerifyIdentity.Params) -> Void = { _ in }
  ) throws -> Driven {
    var driven = try Driven(provider: provider, change)
    if driven.state == "preparing" { driven.toBrowser() }
    return driven
  }

  @Test("GoPay's log-in page is get-auth-code with the redirect URL, the state and the merchant")
  func url() throws {
    let driven = try driven()
    #expect(driven.state == "login" && driven.last == .proceed([]))
    let page = try #require(driven.page)
    #expect(page.url.hasPrefix("https://merchants.midtrans.com/v1.0/get-auth-code?"))
    #expect(page.redirectURI == Driven.redirectURI && page.completes == .loopback)
    #expect(Set(driven.query.keys) == ["redirectURL", "scopes", "state", "merchantId", "lang"])
    #expect(driven.query["redirectURL"] == Driven.redirectURI)
    #expect(driven.query["scopes"] == "DEFAULT" && driven.query["merchantId"] == "merchant-1")
    #expect(page.url.contains("redirectURL=http%3A%2F%2F127.0.0.1%3A40001%2Fcallback"))
  }

  @Test("the state of a GoPay log-in is 32 hexadecimal digits of 128 random bits, as listened for")
  func state() throws {
    var driven = try Driven()
    let expected = try #require(driven.expectation).state.revealed()
    driven.toBrowser()
    let state = try #require(driven.query["state"])
    #expect(state == expected)
    #expect(state.utf8.count == 32)
    #expect(state.allSatisfy { "0123456789abcdef".contains($0) })
    // 16 ascending random bytes, two digits for each.
    #expect(state.hasSuffix("1d1e1f20"))
  }

  @Test("GoPay's log-in page has the caller's locale, or the configured one without it")
  func locale() throws {
    #expect(try driven().query["lang"] == "id")
    #expect(try driven { $0.locale = .en }.query["lang"] == "en")
    #expect(try driven(gopay { $0.locale = .en }).query["lang"] == "en")
  }

  @Test("a redirect of GoPay with an auth code begins the exchange")
  func code() throws {
    var driven = try driven()
    driven.cameBack()
    #expect(driven.state == "waitAck" && driven.problem == nil)
    #expect(driven.effects == [.stopListening, .wake(after: .seconds(60))])
  }

  @Test("a pasted GoPay redirect URL counts only with the right address and state")
  func pasted() throws {
    var driven = try driven()
    let state = try #require(driven.query["state"])
    let base = Driven.redirectURI
    for url in [
      "\(base)?authCode=c&state=\(state.reversed())&success=true", "\(base)?authCode=c",
      "https://evil.example/callback?authCode=c&state=\(state)&success=true", "nonsense",
    ] {
      driven.receive(.input(.redirect(url: Secret(url))))
      #expect(driven.refusedField == "input.redirectURL" && driven.state == "login")
    }
    let good = "\(base)?authCode=code-secret&state=\(state)&success=true"
    driven.receive(.input(.redirect(url: Secret(good))))
    #expect(driven.exchangeStep?.credential.code == WireSecret("code-secret"))
  }

  @Test("an app with its own redirectURI submits the URL of GoPay's redirect")
  func apps() throws {
    var driven = try driven { $0.redirectURI = "https://partner.example/cb" }
    let state = try #require(driven.query["state"])
    #expect(driven.query["redirectURL"] == "https://partner.example/cb")
    let url = "https://partner.example/cb?authCode=code-secret&state=\(state)&result=success"
    driven.receive(.input(.redirect(url: Secret(url))))
    #expect(driven.state == "waitAck")
  }

  @Test(
    "an aborted log-in fails GoPay verify with GPE-2207, any other error with GPE-2205",
    arguments: [
      (AuthorizationResponse(error: "abort"), "GPE-2207", .denied, true),
      (AuthorizationResponse(error: "access_denied"), "GPE-2207", .denied, true),
      (
        AuthorizationResponse(code: Secret("c"), error: "failure", errorDescription: "Sorry"),
        "GPE-2205",
        .providerRejected, false
      ), (AuthorizationResponse(error: ""), "GPE-2205", .providerRejected, false),
    ] as [(AuthorizationResponse, String, Failure.Reason, Bool)])
  func refused(answer: AuthorizationResponse, code: String, reason: Failure.Reason, again: Bool)
    throws
  {
    var driven = try driven()
    driven.receive(.redirected(answer))
    #expect(driven.code == code && driven.failure?.reason == reason)
    #expect(driven.failure?.retryable == again)
    if answer.error != "" { #expect(driven.failure?.provider?.error == answer.error) }
    if let words = answer.errorDescription { #expect(driven.failure?.message == words) }
  }

  @Test("a redirect without a usable auth code fails GoPay verify with GPE-2215")
  func nothing() throws {
    let long = String(repeating: "c", count: 4097)
    for code in [nil, "", "a b", "a\nb", "ä", long] {
      var driven = try driven()
      driven.receive(.redirected(AuthorizationResponse(code: code.map { Secret($0) })))
      #expect(driven.code == "GPE-2215")
      #expect(driven.failure?.reason == .providerProtocolError)
    }
    var driven = try driven()
    driven.receive(
      .redirected(AuthorizationResponse(code: Secret(String(repeating: "c", count: 4096)))))
    #expect(driven.state == "waitAck")
  }

  @Test("GoPay's log-in step refuses the input that asks for the previous step")
  func back() throws {
    var driven = try driven()
    driven.receive(.input(.back(.openURL)))
    #expect(driven.refusedField == "input.back")
  }

  @Test("GoPay verify fails with GPE-2205 if no listener can be opened")
  func noListener() throws {
    var driven = try Driven()
    driven.receive(.listenFailed("none"))
    #expect(driven.code == "GPE-2205")
    #expect(driven.failure?.reason == .invalidRequest && driven.failure?.retryable == true)
  }

  @Test(
    "a fixed port that another user holds fails GoPay verify, as there is no PKCE",
    arguments: [false, true])
  func takenByAnother(afterRestart: Bool) throws {
    let provider = try gopay {
      $0.redirect = try Redirect(setting: "http://127.0.0.1:8767/callback")
    }
    var driven = try Driven(provider: provider)
    if afterRestart {
      driven.toBrowser()
      try driven.restart()
    }
    driven.receive(.listenFailed("port 8767 is taken by user ben", mayReachAnother: true))
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("taken by user ben") == true)
    #expect(driven.code == "GPE-2205")
  }

  @Test("if GoPay verify's fixed port is taken, the user has to paste the redirect URL")
  func fixedPort() throws {
    let provider = try gopay {
      $0.redirect = try Redirect(setting: "http://127.0.0.1:8767/callback")
    }
    var driven = try Driven(provider: provider)
    driven.receive(.listenFailed("taken"))
    #expect(driven.page?.completes == .submit)
    #expect(driven.page?.redirectURI == "http://127.0.0.1:8767/callback")
  }

  @Test("GoPay verify listens again at the same port and for the same state after a restart")
  func restart() throws {
    var driven = try Driven()
    let expectation = try #require(driven.expectation)
    try driven.restart()
    #expect(driven.expectation == expectation)
    driven.toBrowser()
    let url = driven.page?.url
    try driven.restart()
    #expect(driven.expectation?.port == 40001 && driven.expectation?.form == .gopay)
    #expect(driven.expectation?.state == expectation.state)
    driven.toBrowser()
    #expect(driven.page?.url == url && driven.problem == nil)
    driven.cameBack()
    #expect(driven.state == "waitAck")
  }

  @Test("GoPay verify shows a new log-in page if its port is taken after a restart")
  func stranded() throws {
    var driven = try driven()
    let state = driven.query["state"]
    try driven.restart()
    driven.receive(.listening(redirectURI: "http://127.0.0.1:2/callback"))
    #expect(driven.state == "preparing" && driven.problem == .interrupted)
    driven.receive(.listening(redirectURI: "http://127.0.0.1:3/callback"))
    #expect(driven.page?.redirectURI == "http://127.0.0.1:3/callback")
    #expect(driven.query["state"] != state && driven.problem == .interrupted)
    driven.cameBack()
    #expect(driven.problem == nil)
  }
}

@Suite("The auth code for a linking token in GoPay verify")
struct IdentityAuthCodeTests {
  private func driven() throws -> Driven { try Driven(token: "linking-secret") }

  @Test(
    "GoPay verify begins the exchange without a log-in page if a linking token gives an auth code")
  func code() throws {
    var driven = try driven()
    driven.answered(data: ["authCode": "code-secret"])
    #expect(driven.state == "waitAck")
    #expect(driven.effects == [.wake(after: .seconds(60))])
    #expect(driven.exchangeStep?.credential.code == WireSecret("code-secret"))
  }

  @Test("a refused auth-code call fails GoPay verify with the GPE code of the refusal")
  func refusals() throws {
    let cases: [(Int, Int64, String)] = [
      (400, 1539, "GPE-2206"), (401, 1401, "GPE-2202"), (403, 1403, "GPE-2204"),
      (404, 1519, "GPE-2215"), (409, 1601, "GPE-2215"), (418, 7, "GPE-2215"),
    ]
    for (status, number, code) in cases {
      var driven = try driven()
      driven.refused(status, number, "BECAUSE")
      #expect(driven.code == code && driven.failure?.provider?.error == String(number))
      #expect(driven.failure?.provider?.message == "BECAUSE")
    }
  }

  @Test("GoPay verify fails with GPE-2202 if the account's linking token is gone")
  func noToken() throws {
    var driven = try Driven(account: Driven.knownAccount)
    driven.answered(.noToken(message: "sign in again"))
    #expect(driven.code == "GPE-2202" && driven.failure?.message == "sign in again")
  }

  @Test("an unreadable auth-code reply fails GoPay verify with GPE-2215")
  func unreadable() throws {
    let outcomes: [CallOutcome] = [
      .unreadable(message: "too long"), .reply(reply(text: "<html>")),
      .reply(reply(["success": true, "data": ["authCode": "a b"]])),
    ]
    for outcome in outcomes {
      var driven = try driven()
      driven.answered(outcome)
      #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("an unanswered GoPay auth-code call is retried five times, after doubled pauses")
  func fault() throws {
    var driven = try driven()
    driven.waitOutFive()
    #expect(driven.problem?.provider?.code == "GPE-2203")
    driven.answered(Driven.gone)
    #expect(driven.code == "GPE-2203" && driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.retryable == true)
  }

  @Test("GoPay verify retries a server fault after Retry-After, and at last fails with GPE-2215")
  func server() throws {
    var driven = try driven()
    driven.answered(.reply(reply(text: "", status: 503, headers: ["retry-after": "20"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(20))]))
    driven.receive(.woken)
    for _ in 0..<4 {
      driven.refused(500, 900)
      driven.receive(.woken)
    }
    #expect(driven.failure == nil && driven.problem?.provider?.error == "900")
    driven.refused(500, 900)
    #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerUnreachable)
  }

  @Test("a restarted usherd repeats GoPay's auth-code call, also in a retry pause")
  func restart() throws {
    var driven = try driven()
    let call = driven.calls
    try driven.restart()
    #expect(driven.calls == call)
    driven.answered(Driven.gone)
    try driven.restart()
    #expect(driven.calls == call)
    driven.answered(data: ["authCode": "code-secret"])
    #expect(driven.state == "waitAck" && driven.problem == nil)
  }
}
