import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

@Suite("Code exchange of Paysafe authorize by the daemon")
struct PaysafeExchangeTests {
  private func driven(account: KnownAccount? = nil) throws -> Driven {
    var driven = try Driven(account: account)
    driven.toExchange()
    return driven
  }

  private func answer(_ driven: inout Driven, _ outcome: CallOutcome) throws {
    let call = try #require(driven.calls.first)
    driven.receive(.called(call, outcome))
  }

  @Test("Paysafe authorize completes with an account that has the tokens, the brand and a label")
  func way() throws {
    var driven = try Driven { $0.keepAlive = true }
    driven.toExchange()
    try answer(&driven, .reply(Driven.tokenReply()))
    let grant = try #require(driven.grant)
    #expect(grant.subject == "c-1")
    #expect(grant.label == "Ada")
    #expect(grant.attributes == ["brandIdentity": "acme"])
    #expect(grant.profile == nil)
    #expect(grant.keepAlive)
    #expect(grant.tokens?.accessToken.unsealed() == Driven.token())
    #expect(grant.tokens?.expiresAt == now + .seconds(900))
    #expect(grant.tokens?.refreshToken?.unsealed() == Secret("refresh-secret"))
    #expect(grant.tokens?.refreshExpiresAt == now + .seconds(1800))
    #expect(grant.tokens?.scope == "whitelabelWallet")
    #expect(try answered(["scope": .some(nil)]).grant?.keepAlive == false)
  }

  private func answered(
    _ changes: [String: JSONValue?], account: KnownAccount? = nil
  ) throws -> Driven {
    var driven = try driven(account: account)
    try answer(&driven, .reply(Driven.tokenReply(changes)))
    return driven
  }

  private func tokens(_ idToken: JSONValue?, _ accessToken: JSONValue) -> [String: JSONValue?] {
    ["id_token": idToken, "access_token": accessToken]
  }

  private func jwt(_ claims: JSONValue) -> JSONValue {
    .string(Driven.token(claims).revealed())
  }

  @Test("the subject of a Paysafe account is the ID token's, else the access token's")
  func subject() throws {
    let mine = jwt(["sub": "c-1"])
    let nobodys = jwt(["aud": "x"])
    #expect(try answered(tokens(mine, "opaque")).grant?.subject == "c-1")
    #expect(try answered(tokens(mine, nobodys)).grant?.subject == "c-1")
    #expect(try answered(tokens(nil, mine)).grant?.subject == "c-1")
    #expect(try answered(tokens("opaque", mine)).grant?.subject == "c-1")
    #expect(try answered(tokens(nobodys, mine)).grant?.subject == "c-1")
    #expect(try answered(tokens(mine, mine)).grant?.subject == "c-1")
    let longest = String(repeating: "x", count: 255)
    #expect(try answered(tokens(nil, jwt(["sub": .string(longest)]))).grant?.subject == longest)
  }

  @Test("Paysafe authorize fails if the ID token and the access token have different subjects")
  func twoSubjects() throws {
    let driven = try answered(tokens(jwt(["sub": "c-1"]), jwt(["sub": "c-2"])))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("Paysafe authorize fails if no token names a valid subject")
  func noSubject() throws {
    let payload = Base64URL.encode(Array(#"{"sub":"c-1"}"#.utf8))
    for token in [
      "opaque", "a.b", "a.\(payload)", "a.\(payload).c.d", "a.\(payload)=.c", "a.%.c", "..",
    ] as [JSONValue] {
      let driven = try answered(tokens(nil, token))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.grant == nil)
    }
    for claims in [
      [:], ["sub": ""], ["sub": 1], ["sub": .null], ["sub": "a\u{0}"], ["sub": "a\u{7F}"],
      ["sub": .string(String(repeating: "x", count: 256))], [], "c-1",
    ] as [JSONValue] {
      #expect(try answered(tokens(nil, jwt(claims))).failure?.reason == .providerProtocolError)
    }
  }

  @Test("the label of a Paysafe account is a cleaned name from either token, else the subject")
  func label() throws {
    let cases: [(JSONValue, JSONValue, String)] = [
      (["sub": "c-1"], ["sub": "c-1"], "c-1"),
      (["sub": "c-1", "preferred_username": "ada"], ["sub": "c-1"], "ada"),
      (["sub": "c-1", "email": "ada@b.c"], ["sub": "c-1", "preferred_username": "x"], "ada@b.c"),
      (["sub": "c-1"], ["sub": "c-1", "name": "Ada\u{1B}[0m\nL."], "Ada[0m L."),
      (["sub": "c-1", "name": "Ada"], ["sub": "c-1", "name": "Other"], "Ada"),
      (["sub": "c-1", "name": 5], ["sub": "c-1"], "c-1"),
    ]
    for (told, owner, label) in cases {
      #expect(try answered(tokens(jwt(told), jwt(owner))).grant?.label == label)
    }
  }

  @Test("Paysafe authorize fails if another subject than the named account's signs in")
  func otherAccount() throws {
    let other = KnownAccount(id: AccountID("acc_1"), subject: "c-9")
    #expect(try answered([:], account: other).failure == .otherPerson)
    let same = KnownAccount(id: AccountID("acc_1"), subject: "c-1")
    #expect(try answered([:], account: same).grant?.subject == "c-1")
  }

  @Test(
    "a refused code ends Paysafe authorize with the provider's error code",
    arguments: ["invalid_grant", "invalid_client", "invalid_request"])
  func refused(code: String) throws {
    var driven = try driven()
    try answer(
      &driven,
      .reply(reply(["error": .string(code), "error_description": "said so"], status: 400)))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider == word(code, "said so"))
  }

  @Test("Paysafe authorize repeats an unsent exchange after 1, 2, 4, 8 and 16 seconds, then fails")
  func unsent() throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, .unreachable(message: "refused", sent: false)))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.flow.view.problem == .unreachable("refused"))
      #expect(driven.flow.view.state == "exchanging")
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
      #expect(driven.receive(.woken) == .ignore)
    }
    driven.receive(.called(call, .unreachable(message: "refused", sent: false)))
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test("Paysafe authorize repeats the exchange after 1 s if Retry-After is unreadable")
  func postponedUnreadably() throws {
    for asked in ["soon", "Sun, 06 Nov 1994 08:49:37 GMT"] {
      var driven = try driven()
      let call = try #require(driven.calls.first)
      try answer(&driven, .reply(reply(text: "", status: 503, headers: ["retry-after": asked])))
      #expect(driven.last == .proceed([.wake(after: .seconds(1))]))
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
  }

  @Test(
    "Paysafe authorize repeats the exchange after the Retry-After of a 429 or 503",
    arguments: [429, 503])
  func postponed(status: Int) throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    try answer(&driven, .reply(reply(text: "", status: status, headers: ["retry-after": "30"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(30))]))
    #expect(driven.flow.view.state == "exchanging")
    #expect(driven.receive(.woken) == .proceed([.call(call)]))
  }

  @Test("Paysafe authorize starts a fresh round after a lost exchange and fails after the third")
  func lost() throws {
    for outcome in [
      CallOutcome.unreachable(message: "reset", sent: true), .reply(reply(text: "", status: 502)),
    ] {
      for redirectURI in [nil, "https://partner.example/cb"] {
        var driven = try Driven { $0.redirectURI = redirectURI }
        driven.toExchange()
        var seen: Set<String> = []
        for _ in 1..<PaysafeAuthorize.maxLostRounds {
          try answer(&driven, outcome)
          #expect(driven.calls == [])
          driven.toBrowser()
          #expect(driven.flow.view.problem?.reason == "provider_unreachable")
          for name in ["state", "code_challenge"] {
            #expect(seen.insert(driven.query[name] ?? "").inserted)
          }
          driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
          #expect(driven.flow.view.problem == nil)
        }
        try answer(&driven, outcome)
        #expect(driven.failure?.reason == .providerUnreachable)
      }
    }
  }

  @Test("Paysafe authorize ignores the reply to the code of an earlier round")
  func stale() throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    try answer(&driven, .unreachable(message: "reset", sent: true))
    driven.toBrowser()
    driven.receive(.redirected(AuthorizationResponse(code: Secret("code-2"))))
    #expect(driven.receive(.called(call, .reply(Driven.tokenReply()))) == .ignore)
    #expect(
      driven.receive(.called(call, .unreachable(message: "gone", sent: false))) == .ignore)
  }

  @Test("an unreadable token reply ends Paysafe authorize with provider_protocol_error")
  func unreadable() throws {
    for outcome in [
      CallOutcome.unreadable(message: "too long"), .reply(reply(text: "<html>")),
      .reply(Driven.tokenReply(["token_type": "DPoP"])), .noToken(message: "none"),
    ] {
      var driven = try driven()
      try answer(&driven, outcome)
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("Paysafe authorize does not store its code and starts a fresh round once restored")
  func neverStored() throws {
    var driven = try driven()
    try answer(&driven, .unreachable(message: "refused", sent: false))
    #expect(try !stored(driven.flow).contains("code-secret"))
    driven.flow = try storedAndRead(driven.flow)
    driven.receive(.woken)
    driven.toBrowser()
    #expect(driven.page != nil)
    #expect(driven.flow.view.problem == .interrupted)
  }

  @Test("Paysafe authorize revokes no tokens after its end, because wallets cannot revoke tokens")
  func nothingToRevoke() throws {
    let driven = try driven()
    let call = try #require(driven.calls.first)
    #expect(driven.flow.callsIfAbandoned == [])
    #expect(PaysafeAuthorize.cleanUp(call, .reply(Driven.tokenReply())) == [])
  }
}
