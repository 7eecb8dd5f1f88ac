import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenPaysafeAuthorize

@Suite("Paysafe authorize: the daemon redeems the code")
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

  @Test("and the account has its tokens, its brand and its name")
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

  @Test("whose subject is the ID token's, or else the access token's")
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

  @Test("from tokens of two people comes no account")
  func twoSubjects() throws {
    let driven = try answered(tokens(jwt(["sub": "c-1"]), jwt(["sub": "c-2"])))
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("from tokens that do not say whose they are comes no account")
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

  @Test("whose label is a name of either token, cleaned, else the subject")
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

  @Test("of somebody else than the named account ends it")
  func otherAccount() throws {
    let other = KnownAccount(id: AccountID("acc_1"), subject: "c-9")
    #expect(try answered([:], account: other).failure == .otherPerson)
    let same = KnownAccount(id: AccountID("acc_1"), subject: "c-1")
    #expect(try answered([:], account: same).grant?.subject == "c-1")
  }

  @Test(
    "that is refused for good ends it in the provider's words",
    arguments: ["invalid_grant", "invalid_client", "invalid_request"])
  func refused(code: String) throws {
    var driven = try driven()
    try answer(
      &driven,
      .reply(reply(["error": .string(code), "error_description": "said so"], status: 400)))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.provider == word(code, "said so"))
  }

  @Test("that surely reached nobody is tried again with the same code")
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

  @Test("waits for a provider that puts it off without a length that can be read")
  func postponedUnreadably() throws {
    for asked in ["soon", "Sun, 06 Nov 1994 08:49:37 GMT"] {
      var driven = try driven()
      let call = try #require(driven.calls.first)
      try answer(&driven, .reply(reply(text: "", status: 503, headers: ["retry-after": asked])))
      #expect(driven.last == .proceed([.wake(after: .seconds(1))]))
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
  }

  @Test("waits for a provider that says when it can redeem it", arguments: [429, 503])
  func postponed(status: Int) throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    try answer(&driven, .reply(reply(text: "", status: status, headers: ["retry-after": "30"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(30))]))
    #expect(driven.flow.view.state == "exchanging")
    #expect(driven.receive(.woken) == .proceed([.call(call)]))
  }

  @Test("may be spent when the answer was lost: a fresh round, three at most")
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
          driven.receive(.redirected(RedirectAnswer(code: Secret("code-secret"))))
          #expect(driven.flow.view.problem == nil)
        }
        try answer(&driven, outcome)
        #expect(driven.failure?.reason == .providerUnreachable)
      }
    }
  }

  @Test("of an earlier round is nobody's")
  func stale() throws {
    var driven = try driven()
    let call = try #require(driven.calls.first)
    try answer(&driven, .unreachable(message: "reset", sent: true))
    driven.toBrowser()
    driven.receive(.redirected(RedirectAnswer(code: Secret("code-2"))))
    #expect(driven.receive(.called(call, .reply(Driven.tokenReply()))) == .ignore)
    #expect(
      driven.receive(.called(call, .unreachable(message: "gone", sent: false))) == .ignore)
  }

  @Test("answered with something unreadable ends it")
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

  @Test("is never stored: a restart between two tries begins a fresh round")
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

  @Test("leaves nothing to take back: the provider takes nothing back")
  func nothingToRevoke() throws {
    let driven = try driven()
    let call = try #require(driven.calls.first)
    #expect(driven.flow.abandoned == [])
    #expect(PaysafeAuthorize.clearUp(call, .reply(Driven.tokenReply())) == [])
  }
}
