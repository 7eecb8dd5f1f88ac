import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

@Suite("The redirect of Paysafe authorize")
struct PaysafeReturnTests {
  @Test("Paysafe authorize stops listening and redeems the code with the verifier of its challenge")
  func code() throws {
    var driven = try Driven()
    driven.toBrowser()
    let query = driven.query
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    let exchange = try #require(driven.exchange)
    #expect(driven.effects == [.stopListening, .call(.exchange(exchange))])
    #expect(exchange.brand == "acme")
    #expect(exchange.code == Secret("code-secret"))
    #expect(exchange.redirectURI == Driven.redirectURI)
    #expect(PKCE.challenge(of: exchange.verifier) == query["code_challenge"])
    #expect(driven.flow.view.state == "exchanging")
    #expect(driven.flow.view.step == .wait(.init(for: "the provider's tokens")))
  }

  @Test("Paysafe authorize ignores a second redirect")
  func twice() throws {
    for exchange in PaysafeCodeExchange.allCases {
      var driven = try Driven(settings: {
        $0.exchange = exchange
      })
      driven.toExchange()
      let before = driven.flow
      #expect(driven.receive(.redirected(AuthorizationResponse(code: Secret("other")))) == .ignore)
      #expect(driven.flow == before)
    }
  }

  @Test("Paysafe authorize accepts a pasted redirect URL of the listener or of the app")
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

  @Test("Paysafe authorize refuses a pasted URL with a wrong state or address and does not change")
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

  @Test("Paysafe authorize uses the caller's own state and code challenge")
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
    "an error in the redirect ends Paysafe authorize with the provider's error code",
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
        AuthorizationResponse(code: Secret("c"), error: code, errorDescription: "said so")))
    #expect(driven.failure?.reason == reason)
    #expect(driven.failure?.retryable == retryable)
    #expect(driven.failure?.provider == word(code.isEmpty ? "unknown" : code, "said so"))
  }

  @Test("a redirect with neither a code nor an error ends Paysafe authorize")
  func neither() throws {
    for answer in [AuthorizationResponse(), AuthorizationResponse(code: Secret(""))] {
      var driven = try Driven()
      driven.toBrowser()
      driven.receive(.redirected(answer))
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }
}

@Suite("Paysafe authorize after a restart")
struct PaysafeResumeTests {
  @Test("a restored Paysafe authorize requests the config token again, even between two retries")
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

  @Test("a restored Paysafe authorize that was about to listen asks for the same listener again")
  func preparing() throws {
    var driven = try Driven()
    let before = driven.last
    try driven.restart()
    #expect(driven.last == before)
  }

  @Test("a restored Paysafe authorize listens on the old port, and its page stays valid")
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
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    #expect(driven.exchange != nil)
  }

  @Test("a restored Paysafe authorize starts a fresh round if the old port is not available")
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
      #expect(driven.state == "configuring" && driven.flow.view.problem == .interrupted)
      driven.receive(
        .called(
          .configToken(brand: "acme"),
          .reply(Driven.configReply(["digital_fingerprint": "second-finger"]))))
      #expect(driven.expectation != nil && driven.expectation?.port == nil)
      driven.receive(.listening(redirectURI: "http://127.0.0.1:40003/callback"))
      #expect(driven.flow.view.problem == .interrupted)
      for name in ["state", "code_challenge", "redirect_uri"] {
        #expect(driven.query[name] != old[name])
      }
      // The earlier fingerprint may have expired with its config token.
      #expect(driven.query["digital_fingerprint"] == "second-finger")
    }
  }

  @Test("a fresh round of Paysafe authorize keeps the caller's own state and code challenge")
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

  @Test(
    "a restored Paysafe authorize keeps its URL for a fixed redirect, even if the port is taken")
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

  @Test("a restored Paysafe authorize does nothing if the app receives the redirect")
  func appsRedirect() throws {
    var driven = try Driven { $0.redirectURI = "https://partner.example/cb" }
    let view = driven.flow.view
    try driven.restart()
    #expect(driven.effects == [])
    #expect(driven.flow.view == view)
    driven.receive(.listening(redirectURI: Driven.redirectURI))
    #expect(driven.flow.view == view)
  }

  @Test("Paysafe authorize restored during an exchange starts a fresh round and says interrupted")
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
