import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

@Suite("Paysafe authorize: the browser comes back")
struct PaysafeReturnTests {
  @Test("with a code, which is redeemed with its own verifier")
  func code() throws {
    var driven = try Driven()
    driven.toBrowser()
    let query = driven.query
    driven.receive(.redirected(RedirectAnswer(code: Secret("code-secret"))))
    let exchange = try #require(driven.exchange)
    #expect(driven.effects == [.stopListening, .call(.exchange(exchange))])
    #expect(exchange.brand == "acme")
    #expect(exchange.code == Secret("code-secret"))
    #expect(exchange.redirectURI == Driven.redirectURI)
    #expect(PKCE.challenge(of: exchange.verifier) == query["code_challenge"])
    #expect(driven.flow.view.state == "exchanging")
    #expect(driven.flow.view.step == .wait(.init(for: "the provider's tokens")))
  }

  @Test("and is ignored the second time")
  func twice() throws {
    for exchange in CodeExchange.allCases {
      var driven = try Driven(settings: {
        $0.exchange = exchange
      })
      driven.toExchange()
      let before = driven.flow
      #expect(driven.receive(.redirected(RedirectAnswer(code: Secret("other")))) == .ignore)
      #expect(driven.flow == before)
    }
  }

  @Test("by hand, at the address of the listener or of the app")
  func handedIn() throws {
    let app = "https://partner.example/cb?from=wallet"
    for (redirectURI, place) in [(nil, Driven.redirectURI + "?"), (app, app + "&")] {
      var driven = try Driven { $0.redirectURI = redirectURI }
      driven.toBrowser()
      let url = "\(place)code=code-secret&state=\(driven.query["state"] ?? "")"
      driven.receive(.input(.redirect(url: Secret(url))))
      #expect(driven.exchange?.code == Secret("code-secret"))
      #expect(driven.exchange?.redirectURI == redirectURI ?? Driven.redirectURI)
    }
  }

  @Test("with a wrong state or elsewhere: nothing changes")
  func wrongState() throws {
    var driven = try Driven()
    driven.toBrowser()
    let before = driven.flow
    let state = driven.query["state"] ?? ""
    for url in [
      "", Driven.redirectURI, Driven.redirectURI + "?code=c", "not a URL",
      Driven.redirectURI + "?code=c&state=wrong",
      Driven.redirectURI + "?error=access_denied&state=x",
      Driven.redirectURI + "?code=c&state=\(state)&state=\(state)",
      "https://evil.example.com/callback?code=c&state=\(state)",
    ] {
      driven.receive(.input(.redirect(url: Secret(url))))
      #expect(driven.refusedField == "input.redirectURL")
      #expect(driven.flow == before)
    }
    driven.receive(.input(.back(.openURL)))
    #expect(driven.refusedField == "input.back")
    #expect(driven.flow == before)
  }

  @Test("for a caller with a state of his own: that one counts")
  func callersState() throws {
    let own = "caller-state-1"
    let change: (inout PaysafeAuthorize.Params) -> Void = {
      $0.state = WireSecret(own)
      $0.codeChallenge = String(repeating: "A", count: 43)
    }
    var driven = try Driven(change)
    #expect(driven.expectation?.state == Secret(own))
    driven.toBrowser()
    #expect(driven.query["state"] == own)
    #expect(driven.query["code_challenge"] == String(repeating: "A", count: 43))
    #expect(driven.query["code_challenge_method"] == "S256")
    driven.receive(.input(.redirect(url: Secret(Driven.redirectURI + "?code=c&state=other-state"))))
    #expect(driven.refusedField == "input.redirectURL")
    driven.receive(.input(.redirect(url: Secret(Driven.redirectURI + "?code=c&state=\(own)"))))
    #expect(driven.exchangeStep?.credential.code == WireSecret("c"))
  }

  @Test(
    "with an error, which ends it in the provider's words",
    arguments: [
      ("access_denied", .denied, true), ("invalid_request", .providerRejected, false),
      ("unauthorized_client", .providerRejected, false), ("", .providerRejected, false),
      ("server_error", .providerUnreachable, true),
      ("temporarily_unavailable", .providerUnreachable, true),
    ] as [(String, Failure.Reason, Bool)])
  func error(code: String, reason: Failure.Reason, retryable: Bool) throws {
    var driven = try Driven()
    driven.toBrowser()
    driven.receive(
      .redirected(
        RedirectAnswer(code: Secret("c"), error: code, errorDescription: "said so")))
    #expect(driven.failure?.reason == reason)
    #expect(driven.failure?.retryable == retryable)
    #expect(driven.failure?.provider == word(code.isEmpty ? "unknown" : code, "said so"))
  }

  @Test("with neither, which ends it")
  func neither() throws {
    for answer in [RedirectAnswer(), RedirectAnswer(code: Secret(""))] {
      var driven = try Driven()
      driven.toBrowser()
      driven.receive(.redirected(answer))
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }
}

@Suite("Paysafe authorize: after a restart")
struct PaysafeResumeTests {
  @Test("it asks for the config token again, also out of a pause")
  func configuring() throws {
    let call = PaysafeCall.configToken(brand: "acme")
    var driven = try Driven(credential: "secret")
    try driven.restart()
    #expect(driven.last == .proceed([.call(call)]))
    driven.receive(.called(call, .unreachable(message: "gone", sent: true)))
    try driven.restart()
    #expect(driven.last == .proceed([.call(call)]))
    #expect(driven.receive(.woken) == .ignore)
  }

  @Test("it listens again")
  func preparing() throws {
    var driven = try Driven()
    let before = driven.last
    try driven.restart()
    #expect(driven.last == before)
  }

  @Test("it asks for the old port, and the open page still works")
  func samePort() throws {
    var driven = try Driven(credential: "secret")
    driven.toBrowser()
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.expectation?.port == 40001)
    #expect(driven.expectation?.state.revealed() == driven.query["state"])
    #expect(driven.flow.view == view)
    driven.receive(.listening(redirectURI: Driven.redirectURI))
    #expect(driven.flow.view == view)
    driven.receive(.redirected(RedirectAnswer(code: Secret("code-secret"))))
    #expect(driven.exchange != nil)
  }

  @Test("it begins a fresh round when the old port is gone; the fingerprint stays")
  func otherPort() throws {
    for event in [
      FlowEvent<PaysafeCall>.listenFailed("taken"),
      .listening(redirectURI: "http://127.0.0.1:40002/callback"),
    ] {
      var driven = try Driven(credential: "secret")
      driven.toBrowser()
      let old = driven.query
      try driven.restart()
      driven.receive(event)
      #expect(driven.expectation != nil && driven.expectation?.port == nil)
      driven.receive(.listening(redirectURI: "http://127.0.0.1:40003/callback"))
      #expect(driven.flow.view.problem == .interrupted)
      for name in ["state", "code_challenge", "redirect_uri"] {
        #expect(driven.query[name] != old[name])
      }
      #expect(driven.query["digital_fingerprint"] == "finger-secret")
    }
  }

  @Test("a fresh round keeps the state and the challenge that are the caller's")
  func callersOwn() throws {
    var driven = try Driven {
      $0.state = WireSecret("caller-state-1")
      $0.codeChallenge = String(repeating: "A", count: 43)
    }
    driven.toBrowser()
    try driven.restart()
    driven.receive(.listenFailed("taken"))
    driven.receive(.listening(redirectURI: "http://127.0.0.1:40003/callback"))
    #expect(driven.query["state"] == "caller-state-1")
    #expect(driven.query["code_challenge"] == String(repeating: "A", count: 43))
    #expect(driven.query["redirect_uri"] == "http://127.0.0.1:40003/callback")
  }

  @Test("it keeps everything for a fixed port, taken or not")
  func fixedPort() throws {
    for (event, completes) in [
      (FlowEvent<PaysafeCall>.listenFailed("taken"), Step.OpenURL.Completion.submit),
      (.listening(redirectURI: "http://[0:0:0:0:0:0:0:1]:8766/cb"), .loopback),
    ] {
      var driven = try Driven(settings: {
        $0.redirect = try Redirect(setting: "http://[::1]:8766/cb")
      })
      driven.toBrowser()
      let url = driven.page?.url
      try driven.restart()
      driven.receive(event)
      #expect(driven.page?.url == url)
      #expect(driven.page?.completes == completes)
    }
  }

  @Test("nothing is to be done where the app gets the redirect itself")
  func appsRedirect() throws {
    var driven = try Driven { $0.redirectURI = "https://partner.example/cb" }
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.effects == [])
    #expect(driven.flow.view == view)
    driven.receive(.listening(redirectURI: Driven.redirectURI))
    #expect(driven.flow.view == view)
  }

  @Test("a code in flight may be spent: a fresh round with problem interrupted")
  func redeeming() throws {
    for redirectURI in [nil, "https://partner.example/cb"] {
      var driven = try Driven { $0.redirectURI = redirectURI }
      driven.toExchange()
      try driven.restart()
      driven.toBrowser()
      #expect(driven.flow.view.problem == .interrupted)
      #expect(driven.page?.completes == (redirectURI == nil ? .loopback : .submit))
    }
  }
}
