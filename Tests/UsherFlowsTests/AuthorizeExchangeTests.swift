import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

@Suite("The code exchange of OIDC authorize")
struct AuthorizeExchangeTests {
  private func driven() throws -> DrivenAuthorize {
    var driven = try DrivenAuthorize()
    driven.toExchange()
    return driven
  }

  private func answer(_ driven: inout DrivenAuthorize, _ outcome: CallOutcome) throws {
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, outcome))
  }

  @Test(
    "an OAuth error in the token reply ends OIDC authorize with the provider's error code",
    arguments: ["invalid_grant", "invalid_client", "invalid_request", "invalid_code"])
  func refused(code: String) throws {
    var driven = try driven()
    try answer(&driven, .reply(reply(["error": .string(code)], status: 400)))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider?.code == code)
  }

  @Test(
    "OIDC authorize repeats an unsent code exchange with pauses doubled from 1 to 16 s, then fails")
  func unsent() throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, .unreachable(message: "refused", sent: false)))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.flow.view.problem == .unreachable("refused"))
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
    driven.receive(.called(call, .unreachable(message: "refused", sent: false)))
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test(
    "OIDC authorize waits at least as long as Retry-After asks, then repeats the exchange",
    arguments: [
      (503, "30", 30), (429, "7", 7), (503, "0", 1), (503, "9999", 120), (503, " 1 ", 1),
      (503, "1.5", 2), (503, "99999999999999999999", 120), (503, "soon", 1), (503, "-1", 1),
      (503, "Sun, 06 Nov 1994 08:49:37 GMT", 1),
    ])
  func postponed(status: Int, asked: String, seconds: Int) throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    for _ in 1...5 {
      let later = reply(text: "", status: status, headers: ["retry-after": asked])
      try answer(&driven, .reply(later))
      guard case .proceed(let effects) = driven.last, case .wake(let pause)? = effects.first else {
        Issue.record("the flow does not pause: \(driven.last)")
        return
      }
      #expect(effects.count == 1 && pause >= .seconds(seconds))
      #expect(driven.flow.view.state == "exchanging")
      #expect(driven.flow.view.problem?.reason == "provider_unreachable")
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
    driven.receive(.called(call, .reply(tokenReply())))
    #expect(driven.flow.view.state == "verifying")
  }

  @Test("OIDC authorize starts a fresh round after a lost exchange reply and fails after the third")
  func lost() throws {
    for outcome in [
      CallOutcome.unreachable(message: "reset", sent: true), .reply(reply(text: "", status: 502)),
    ] {
      var driven = try driven()
      var states: Set<String> = []
      for _ in 1..<OIDCAuthorize.maxLostRounds {
        try answer(&driven, outcome)
        guard case .proceed(let effects) = driven.last, effects.count == 2,
          effects[0] == .stopListening, case .listen(let expectation) = effects[1]
        else {
          Issue.record("the flow starts no fresh round")
          return
        }
        driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
        #expect(driven.flow.view.problem?.reason == "provider_unreachable")
        #expect(driven.query["state"] == expectation.state.revealed())
        for name in ["state", "nonce", "code_challenge"] {
          #expect(states.insert(driven.query[name] ?? "").inserted)
        }
        driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
        #expect(driven.flow.view.problem == nil)
      }
      try answer(&driven, outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
    }
  }

  @Test("OIDC authorize ignores the token reply to the code of an earlier round")
  func stale() throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    try answer(&driven, .unreachable(message: "reset", sent: true))
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-2"))))
    #expect(driven.receive(.called(call, .reply(tokenReply()))) == .ignore)
  }

  @Test("OIDC authorize fails with provider_protocol_error if the token reply is unreadable")
  func unreadable() throws {
    for outcome in [
      CallOutcome.unreadable(message: "too long"), .reply(reply(text: "<html>")),
      .reply(tokenReply(["token_type": "DPoP"])),
    ] {
      var driven = try driven()
      try answer(&driven, outcome)
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test(
    "OIDC authorize does not store its authorization code and starts a fresh round once restored")
  func neverStored() throws {
    var driven = try driven()
    try answer(&driven, .unreachable(message: "refused", sent: false))
    let restored = try storedAndRead(driven.flow)
    #expect(!(try stored(driven.flow).contains("code-secret")))
    driven.flow = restored
    driven.receive(.woken)
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.step != nil)
    #expect(driven.flow.view.problem == .interrupted)
  }

  @Test("OIDC authorize revokes tokens that arrive after the flow has ended")
  func cleanUp() throws {
    let driven = try driven()
    let call = try #require(driven.calls.first)
    #expect(OIDCAuthorize.cleanUp(call, .reply(tokenReply())) == [revocation])
    #expect(OIDCAuthorize.cleanUp(call, .reply(reply(["error": "x"], status: 400))) == [])
    #expect(OIDCAuthorize.cleanUp(call, .unreachable(message: "gone", sent: true)) == [])
    #expect(OIDCAuthorize.cleanUp(revocation, .reply(tokenReply())) == [])
  }
}

@Suite("OIDC authorize after a restart")
struct AuthorizeResumeTests {
  private func resumed(_ driven: DrivenAuthorize) throws -> DrivenAuthorize {
    var driven = driven
    driven.flow = try storedAndRead(driven.flow)
    driven.receive(.resumed)
    return driven
  }

  @Test("a restored OIDC authorize repeats discovery, even if it was waiting for a retry")
  func discovering() throws {
    var driven = try DrivenAuthorize()
    #expect(try resumed(driven).last == .proceed([.discover]))
    driven.receive(.discovered(.unreachable(message: "gone")))
    driven = try resumed(driven)
    #expect(driven.last == .proceed([.discover]))
    #expect(driven.receive(.woken) == .ignore)
  }

  @Test("a restored OIDC authorize that was about to listen asks for the same listener again")
  func preparing() throws {
    var driven = try DrivenAuthorize()
    driven.receive(.discovered(.found(metadata())))
    let before = driven.last
    #expect(try resumed(driven).last == before)
  }

  @Test("a restored OIDC authorize listens on the old port, and its authorization page stays valid")
  func samePort() throws {
    var driven = try DrivenAuthorize()
    driven.toBrowser()
    let view = driven.flow.view
    driven = try resumed(driven)
    guard case .proceed(let effects) = driven.last, case .listen(let expectation)? = effects.first
    else {
      Issue.record("the flow asks for no listener")
      return
    }
    #expect(expectation.port == 40001)
    #expect(expectation.state.revealed() == driven.query["state"])
    #expect(driven.flow.view == view)
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.flow.view == view)
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
    #expect(driven.calls.count == 1)
  }

  @Test("a restored OIDC authorize starts a fresh round if the old port is not available")
  func otherPort() throws {
    for event in [
      FlowEvent<OIDCCall>.listenFailed("taken"),
      .listening(redirectURI: "http://127.0.0.1:40002/callback"),
    ] {
      var driven = try DrivenAuthorize()
      driven.toBrowser()
      let old = driven.query
      driven = try resumed(driven)
      driven.receive(event)
      driven.receive(.listening(redirectURI: "http://127.0.0.1:40003/callback"))
      #expect(driven.flow.view.problem == .interrupted)
      for name in ["state", "nonce", "code_challenge", "redirect_uri"] {
        #expect(driven.query[name] != old[name])
      }
    }
  }

  @Test("a restored OIDC authorize keeps its URL for a fixed redirect, even if the port is taken")
  func fixedPort() throws {
    for (event, completes) in [
      (FlowEvent<OIDCCall>.listenFailed("taken"), Step.OpenURL.Completion.submit),
      (.listening(redirectURI: "http://127.0.0.1:8765/cb"), .loopback),
    ] {
      var driven = try DrivenAuthorize(redirect: "http://127.0.0.1:8765/cb")
      driven.toBrowser()
      let url = driven.step?.url
      driven = try resumed(driven)
      driven.receive(event)
      #expect(driven.step?.url == url)
      #expect(driven.step?.completes == completes)
    }
  }

  @Test("OIDC authorize restored during an exchange starts a fresh round and reports interrupted")
  func exchanging() throws {
    var driven = try DrivenAuthorize()
    driven.toExchange()
    driven = try resumed(driven)
    driven.receive(.listening(redirectURI: DrivenAuthorize.redirectURI))
    #expect(driven.flow.view.problem == .interrupted)
    #expect(driven.step?.completes == .loopback)
  }

  @Test("a restored OIDC authorize repeats the ID token verification, even between two retries")
  func signingIn() throws {
    var driven = try DrivenAuthorize()
    driven.toVerify()
    let verify = driven.last
    driven = try resumed(driven)
    #expect(driven.last == verify)
    driven.receive(.idTokenVerified(.unreachable(message: "gone")))
    driven = try resumed(driven)
    #expect(driven.last == verify)
  }
}
