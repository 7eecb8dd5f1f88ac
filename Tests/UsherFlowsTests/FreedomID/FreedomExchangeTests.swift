import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Code exchange of the Freedom ID oauth2 flow")
struct FreedomExchangeTests {
  @Test("the Freedom ID oauth2 flow stops listening, redeems the code and requests the user")
  func redeemed() throws {
    var driven = try PartnerAuthorize()
    driven.toExchange()
    #expect(driven.effects == [.stopListening, .call(.exchange(code: Secret("code-secret")))])
    #expect(driven.state == "exchanging")
    driven.answered(Freedom.said(Freedom.tokens()))
    #expect(driven.calls == [.user(token: Secret("access-secret"))])
    #expect(driven.state == "completion")
  }

  @Test(
    "the Freedom ID oauth2 flow repeats an exchange that the provider certainly did not process")
  func notSent() throws {
    for outcome in [Freedom.gone, .reply(reply([:], status: 429))] {
      var driven = try PartnerAuthorize()
      driven.toExchange()
      driven.answered(outcome)
      #expect(driven.timer == .seconds(1))
      #expect(driven.state == "exchanging")
      driven.receive(.woken)
      #expect(driven.calls == [.exchange(code: Secret("code-secret"))])
    }
  }

  @Test("the Freedom ID oauth2 flow repeats the exchange after the Retry-After of a 429 or 503")
  func putOff() throws {
    let headers = ["retry-after": "7"]
    let busy: JSONValue = ["error": ["message": "busy", "code": 100999]]
    for answer in [
      reply([:], status: 503, headers: headers), reply([:], status: 429, headers: headers),
      reply(busy, status: 429, headers: headers), reply(busy, status: 503, headers: headers),
    ] {
      var driven = try PartnerAuthorize()
      driven.toExchange()
      driven.answered(.reply(answer))
      #expect(driven.timer == .seconds(7), "\(answer)")
      #expect(driven.state == "exchanging")
      #expect(driven.flow.view.problem?.reason == "provider_unreachable")
      #expect(driven.flow.view.problem?.retryAfterMs == 7000)
      driven.receive(.woken)
      #expect(driven.calls == [.exchange(code: Secret("code-secret"))])
    }
  }

  @Test("the Freedom ID oauth2 flow repeats the exchange after 1 s if Retry-After is unreadable")
  func putOffUnreadably() throws {
    var driven = try PartnerAuthorize()
    driven.toExchange()
    driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "soon"])))
    #expect(driven.timer == .seconds(1))
    #expect(driven.state == "exchanging")
    driven.receive(.woken)
    #expect(driven.calls == [.exchange(code: Secret("code-secret"))])
  }

  @Test("the Freedom ID oauth2 flow starts a fresh round at another path after a lost exchange")
  func lost() throws {
    for outcome in [Freedom.lost, .reply(reply([:], status: 502))] {
      var driven = try PartnerAuthorize()
      driven.toBrowser()
      let uri = driven.step?.redirectURI
      driven.receive(.redirected(AuthorizationResponse(code: Secret("code-secret"))))
      driven.answered(outcome)
      #expect(driven.calls.isEmpty && driven.expectation != nil)
      #expect(driven.flow.view.problem?.reason == "provider_unreachable")
      driven.toBrowser()
      #expect(driven.step != nil && driven.step?.redirectURI != uri)
      #expect(driven.flow.view.problem?.reason == "provider_unreachable")
    }
  }

  @Test("the Freedom ID oauth2 flow fails after the third lost exchange")
  func lostAgain() throws {
    var driven = try PartnerAuthorize()
    for _ in 1..<FreedomPartnerAuthorize.maxLostRounds {
      driven.toExchange()
      driven.answered(Freedom.lost)
      #expect(driven.failure == nil)
    }
    driven.toExchange()
    driven.answered(Freedom.lost)
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.word == "networkError.streamError")
  }

  @Test("a restored Freedom ID oauth2 flow does not redeem its code, even between two retries")
  func restart() throws {
    for isPaused in [false, true] {
      var driven = try PartnerAuthorize()
      driven.toExchange()
      if isPaused { driven.answered(Freedom.gone) }
      try driven.restart()
      #expect(driven.calls.isEmpty && driven.expectation != nil)
      #expect(driven.flow.view.problem?.reason == "interrupted")
    }
  }

  @Test(
    "a refused exchange ends the Freedom ID oauth2 flow with the SDK's error code",
    arguments: [
      (422, 100101, "authError"), (200, 100101, "authError"), (401, nil, "incorrectApiKey"),
      (401, 100001, "incorrectApiKey"), (400, nil, "unknownError"),
    ] as [(Int, Int?, String)])
  func refused(status: Int, code: Int?, word: String) throws {
    var driven = try PartnerAuthorize()
    driven.toExchange()
    driven.answered(Freedom.refusal(status, code))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.word == word)
    #expect(driven.failure?.provider?.error == code.map { String($0) })
  }

  @Test("an exchange reply without valid tokens ends the Freedom ID oauth2 flow")
  func unreadable() throws {
    for changes in [
      ["access_token": nil], ["access_token": "a b"], ["access_token": 7],
      ["refresh_token": "ä"], ["access_expire_at": 1_800_000_000], ["access_expire_at": "soon"],
      ["refresh_expire_at": "2027-02-30T00:00:00Z"],
    ] as [[String: JSONValue?]] {
      var driven = try PartnerAuthorize()
      driven.toExchange()
      driven.answered(Freedom.said(Freedom.tokens(changes)))
      #expect(driven.word == "parsingError", "\(changes)")
    }
    for (outcome, word) in [
      (.reply(reply(text: "")), "networkError.bodyError"),
      (.reply(reply(text: "[]")), "networkError.bodyError"),
      (.reply(reply([:], status: 302)), "networkError.codeError"),
      (.unreadable(message: "too large"), "transmissionError.requestReceivingError"),
    ] as [(CallOutcome, String)] {
      var driven = try PartnerAuthorize()
      driven.toExchange()
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.word == word)
    }
  }
}

@Suite("User request of the Freedom ID oauth2 flow")
struct FreedomPersonTests {
  @Test("the Freedom ID oauth2 flow completes with an account of only the requested members")
  func finished() throws {
    var driven = try PartnerAuthorize()
    driven.toPerson()
    driven.clock = now + .seconds(5)
    driven.answered(Freedom.said(Freedom.user()))
    let completion = try #require(driven.completion)
    let grant = try #require(completion.grant)
    let profile: [String: JSONValue] = ["firstname": "Aigerim", "dateOfBirth": "1990-02-28"]
    #expect(
      completion.result == [
        "granted": ["read.data_of_birth", "read.firstname", "read.profile"],
        "profile": .object(profile),
      ])
    #expect(grant.subject == Freedom.person)
    #expect(grant.label == "Freedom ID 5f0c1d2e")
    #expect(
      grant.attributes == [
        "mode": "oauth2", "tokenIdHash": .string(FreedomTokenID.hash(of: "token-id-1")),
      ])
    #expect(grant.profile == profile)
    #expect(grant.isByConsent && !grant.tokensAreInternal && !grant.keepAlive)
    let end = now + .seconds(365 * 86_400 + 5)
    #expect(
      grant.consents == [
        ConsentGrant(grant: "read.data_of_birth", member: "dateOfBirth", expiresAt: end),
        ConsentGrant(grant: "read.firstname", member: "firstname", expiresAt: end),
        ConsentGrant(grant: "read.profile", member: nil, expiresAt: end),
      ])
    let tokens = try #require(grant.tokens)
    #expect(tokens.accessToken.unsealed() == Secret("access-secret"))
    #expect(tokens.refreshToken?.unsealed() == Secret("refresh-secret"))
    #expect(tokens.scope == "read.data_of_birth read.firstname read.profile")
    #expect(tokens.expiresAt == Timestamp(rfc3339: "2027-01-22T08:00:00.123Z"))
    #expect(tokens.refreshExpiresAt == Timestamp(rfc3339: "2027-02-12T08:00:00.123Z"))
  }

  @Test("a member missing from a Freedom ID user is not granted, null is, and none is a denial")
  func leftOut() throws {
    var driven = try PartnerAuthorize(grants: ["read.email", "read.firstname", "read.gender"])
    driven.toPerson()
    driven.answered(Freedom.said(Freedom.user(["gender": .null])))
    let completion = try #require(driven.completion)
    #expect(completion.result["granted"] == ["read.firstname", "read.gender"])
    #expect(completion.result["profile"] == ["firstname": "Aigerim", "gender": nil])
    #expect(completion.grant?.tokens?.scope == "read.firstname read.gender")
    #expect(completion.grant?.consents.map(\.grant) == ["read.firstname", "read.gender"])

    driven = try PartnerAuthorize(grants: ["read.email"])
    driven.toPerson()
    driven.answered(Freedom.said(Freedom.user()))
    #expect(driven.failure?.reason == .denied && driven.word == "accessDenied")
  }

  @Test("the Freedom ID oauth2 flow stores consents for consent_days")
  func days() throws {
    var driven = try PartnerAuthorize(grants: ["openid"]) { $0.consentDays = 2 }
    driven.toPerson()
    driven.answered(Freedom.said(Freedom.user()))
    #expect(driven.completion?.grant?.consents.map(\.expiresAt) == [now + .seconds(172_800)])
    #expect(driven.completion?.result["profile"] == [:])
  }

  @Test("Freedom ID tokens without an id leave the account without a tokenIdHash")
  func noID() throws {
    var driven = try PartnerAuthorize()
    driven.toExchange()
    driven.answered(Freedom.said(Freedom.tokens(["id": nil])))
    driven.answered(Freedom.said(Freedom.user()))
    #expect(driven.completion?.grant?.attributes == ["mode": "oauth2"])
  }

  @Test("the Freedom ID oauth2 flow refuses another subject than the named account's")
  func otherPerson() throws {
    let known = KnownAccount(id: Freedom.account, subject: Freedom.person)
    for (id, isThem) in [(Freedom.person, true), ("5f0c1d2e-0000-4000-8000-000000000002", false)] {
      var driven = try PartnerAuthorize(account: known)
      driven.toPerson()
      driven.answered(Freedom.said(Freedom.user(["id": .string(id)])))
      #expect((driven.completion != nil) == isThem)
      #expect(driven.failure?.reason == (isThem ? nil : .providerRejected))
      #expect(driven.word == (isThem ? nil : "authError"))
    }
  }

  @Test(
    "a Freedom ID user without a valid id or with mistyped members fails with parsingError",
    arguments: [
      ["id": nil], ["id": 7], ["id": ""], ["id": "a b"],
      ["id": .string(String(repeating: "x", count: 129))], ["firstname": ["a"]],
      ["firstname": .string(String(repeating: "x", count: 1025))], ["date_of_birth": 1990],
    ] as [[String: JSONValue?]])
  func unreadable(changes: [String: JSONValue?]) throws {
    var driven = try PartnerAuthorize()
    driven.toPerson()
    driven.answered(Freedom.said(Freedom.user(changes)))
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.word == "parsingError")
  }

  @Test("a Freedom ID user request is repeated after a lost reply and after a restart, then fails")
  func repeated() throws {
    var driven = try PartnerAuthorize()
    driven.toPerson()
    driven.answered(Freedom.lost)
    #expect(driven.timer == .seconds(1))
    #expect(driven.flow.view.problem?.provider?.code == "networkError.streamError")
    driven.receive(.woken)
    #expect(driven.calls == [.user(token: Secret("access-secret"))])
    try driven.restart()
    #expect(driven.calls == [.user(token: Secret("access-secret"))])
    for _ in 0..<4 {
      driven.answered(.reply(reply([:], status: 500)))
      driven.receive(.woken)
    }
    driven.answered(.reply(reply([:], status: 500)))
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.word == "networkError.codeError")
  }

  @Test("a refused Freedom ID user request fails with the SDK's error code")
  func refused() throws {
    for (status, code, word) in [
      (401, nil, "transmissionError.autheticationError"),
      (401, 100004, "transmissionError.autheticationError"), (401, 100001, "incorrectApiKey"),
      (200, 777, "unknownError"),
    ] as [(Int, Int?, String)] {
      var driven = try PartnerAuthorize()
      driven.toPerson()
      driven.answered(Freedom.refusal(status, code))
      #expect(driven.word == word)
    }
  }
}
