import Foundation
import Testing

@testable import UsherSandbox

@Suite("Paysafe: what a test may change and see")
struct PaysafeControlTests {
  @Test("an operation's event offers what is set, as far as the customer has it")
  func availableVerifications() async throws {
    let bank = try Bank()
    let customer = try await bank.customer()
    func available() async throws -> JSON? {
      try customer.event(announcedBy: try await customer.pay(150))
        .details["availableVerifications"]
    }
    #expect(
      try await available() == [
        ["method": "OTP", "channel": "SMS", "target": "+44 ••• 123"],
        ["method": "OTP", "channel": "EMAIL", "target": "a•••@example.com"],
        ["method": "OTP", "channel": "AUTHENTICATOR"], ["method": "PIN"],
        ["method": "PASSWORD"], ["method": "PUSH_NOTIFICATION"],
        ["method": "BIOMETRIC", "channel": "REDIRECT"],
      ])
    try await bank.set(["availableVerifications": []])
    #expect(try await available() == [])
  }

  @Test("who has neither phone nor PIN is not offered them")
  func poorUser() async throws {
    let clock = SandboxClock { start }
    let zoe = User(username: "zoe", password: "p")
    let paysafe = Paysafe(
      Workbench(users: Users([zoe]), clock: clock, mint: TokenMint(), pages: try Pages()))
    let event = await paysafe.openEvent(for: zoe, nil, PaysafeSettings(), start)
    #expect(
      event.available.map(\.name) == [
        "OTP.EMAIL", "OTP.AUTHENTICATOR", "PASSWORD", "PUSH_NOTIFICATION", "BIOMETRIC.REDIRECT",
      ])
  }

  @Test("counters can stay away, and can lie once")
  func counters() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    try await bank.set(["nextCounters": ["currentChallenges": 3, "allowableAttempts": 9]])
    let lying = try await event.challenge("PIN").json()
    #expect(lying["currentChallenges"] == 3)
    #expect(lying["allowableAttempts"] == 9)
    #expect(lying["currentAttempts"] == 0)
    let right = try await event.challenge("PIN").json()
    #expect(right["currentChallenges"] == 2)
    #expect(right["allowableAttempts"] == 3)
    try await bank.set(["omitCounters": true])
    for reply in [try await event.attempt("PIN", "0"), try await event.read()] {
      for name in ScaEvent.counters { #expect(try reply.json()[name] == nil) }
    }
    let shown = try await bank.control(.get, "events/\(event.id)")
    #expect(shown["currentAttempts"] == 1)
  }

  @Test("counters, limits and times of one event can be moved")
  func changeEvent() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    _ = try await event.challenge("PIN")
    let changed = try await bank.control(
      .post, "events/\(event.id)", ["currentAttempts": 4, "allowableAttempts": 5])
    #expect(changed["currentAttempts"] == 4)
    #expect(changed["allowableAttempts"] == 5)
    _ = try await bank.control(.post, "events/\(event.id)", ["expire": "challenge"])
    #expect(try await event.attempt("PIN", "2468").refusal() == "CHALLENGE_REQUIRED")
    _ = try await event.challenge("PIN")
    #expect(try await event.attempt("PIN", "0").json()["statusReason"] == "ATTEMPTS_EXHAUSTED")
    let other = try await bank.customer().event()
    _ = try await bank.control(.post, "events/\(other.id)", ["expire": "event"])
    #expect(try await other.challenge("PIN").refusal() == "EVENT_EXPIRED")
    for body: JSON in [["expire": "all"], ["currentAttempts": -1], ["x": 1], []] {
      let reply = try await bank.send(
        .post, "/_control/paysafe/events/\(other.id)", json: body)
      #expect(reply.status == 400)
    }
    #expect(try await bank.send(.get, "/_control/paysafe/events/evt_x").status == 404)
  }

  @Test("an event is made as it is wanted, and refuses what it does not know")
  func makeEvent() async throws {
    let bank = try Bank()
    let event = try await bank.control(
      .post, "events",
      [
        "username": "bob", "walletOperationId": "op-1", "availableVerifications": ["PIN"],
        "allowableChallenges": 7, "allowableAttempts": 8, "eventSeconds": 60,
        "challengeSeconds": 10, "coolDownSeconds": 5,
      ])
    #expect(event["username"] == "bob")
    #expect(event["walletOperationId"] == "op-1")
    #expect(event["allowableChallenges"] == 7)
    #expect(event["expirationTime"] == "2027-01-15T08:01:00Z")
    #expect(event["used"] == false)
    #expect(event["operation"] == nil)
    for body: JSON in [
      ["username": "eve"], ["availableVerifications": ["FAX"]], ["eventSeconds": "1"], ["x": 1],
    ] {
      #expect(try await bank.send(.post, "/_control/paysafe/events", json: body).status == 400)
    }
  }

  @Test("a push or redirect is decided without its page, and nothing else is")
  func decision() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    let path = "/_control/paysafe/events/\(event.id)/decision"
    #expect(try await bank.send(.post, path, json: ["approve": true]).status == 409)
    _ = try await event.challenge("PIN")
    #expect(try await bank.send(.post, path, json: ["approve": true]).status == 409)
    _ = try await event.challenge("PUSH_NOTIFICATION")
    #expect(try await bank.send(.post, path, json: ["approve": "yes"]).status == 400)
    let reply = try await bank.send(.post, path, json: ["approve": false])
    #expect(try reply.json()["status"] == "REJECTED")
  }

  @Test("tokens are listed without a token, with what became of them")
  func tokens() async throws {
    let bank = try Bank()
    let first = try await bank.redeem(bank.code()).json()
    _ = try await bank.refresh(first["refresh_token"])
    _ = try await bank.token(["grant_type": "client_credentials"])
    func states() async throws -> [String] {
      guard case .array(let list)? = try await bank.control(.get, "tokens")["tokens"] else {
        return []
      }
      return list.map { "\($0["kind"]?.text ?? "") \($0["state"]?.text ?? "")" }
    }
    let live = ["access live", "access live", "refresh superseded", "refresh live", "config live"]
    #expect(try await states() == live)
    let text = String(
      decoding: try await bank.control(.get, "tokens").encoded(), as: UTF8.self)
    for name in ["access_token", "refresh_token", "id_token"] {
      #expect(!text.contains(try #require(first[name]?.text)))
    }
    bank.wait(1000)
    let later = [
      "access expired", "access expired", "refresh superseded", "refresh live", "config expired",
    ]
    #expect(try await states() == later)
    _ = try await bank.control(.post, "revokeAll")
    #expect(
      try await states() == [String](repeating: "access revoked", count: 2)
        + [String](repeating: "refresh revoked", count: 2) + ["config expired"])
  }

  @Test("a grant without a sign-in is refused for who or what is not there")
  func grants() async throws {
    let bank = try Bank()
    for body: JSON in [
      ["username": "eve"], ["clientID": "x"], ["brandIdentity": "x"], ["x": 1], [],
    ] {
      #expect(try await bank.send(.post, "/_control/paysafe/tokens", json: body).status == 400)
    }
    let tokens = try await bank.control(.post, "tokens", ["brandIdentity": "globex"])
    #expect(try await bank.refresh(tokens["refresh_token"], brand: "globex").status == 200)
  }

  @Test("settings are read, changed and brought back, and refused ones change nothing")
  func settings() async throws {
    let bank = try Bank()
    try await bank.set(["scaAmount": 5, "omitCounters": true])
    let wrong: JSON = ["scaAmount": 6, "nope": 1]
    #expect(try await bank.send(.post, "/_control/paysafe/settings", json: wrong).status == 400)
    let read = try await bank.control(.get, "settings")
    #expect(read["scaAmount"] == 5)
    #expect(read["omitCounters"] == true)
    let back = try await bank.control(.delete, "settings")
    #expect(back["scaAmount"] == 100)
    #expect(try await bank.customer().pay(50).status == 201)
  }

  @Test("replies about an event are bent as a test wants them")
  func overrides() async throws {
    let bank = try Bank()
    try await bank.set([
      "challengeReply": ["digits": .null, "more": 1], "attemptReply": ["status": "MAYBE"],
      "eventReply": ["status": .null], "attemptStatus": 201,
    ])
    let event = try await bank.customer().event()
    let challenge = try await event.challenge("OTP.SMS").json()
    #expect(challenge["digits"] == nil)
    #expect(challenge["more"] == 1)
    let attempt = try await event.attempt("OTP.SMS", "0")
    #expect(attempt.status == 201)
    #expect(try attempt.json()["status"] == "MAYBE")
    #expect(try await event.read().json()["status"] == nil)
  }

  @Test("who is locked out is let in by a control call")
  func locks() async throws {
    let bank = try Bank()
    let page = try await bank.authorize()
    for _ in 0..<5 { _ = try await bank.login(on: page, ["username": "alice", "pin": "0"]) }
    let right = ["username": "alice", "pin": "2468"]
    #expect(try await bank.login(on: page, right).status == 403)
    _ = try await bank.control(.delete, "locks")
    #expect(try await bank.login(on: page, right).status == 303)
  }

  @Test("the authenticator is shown for users only")
  func authenticator() async throws {
    let bank = try Bank()
    let path = "/_control/paysafe/authenticator"
    #expect(try await bank.send(.get, path).status == 400)
    #expect(try await bank.send(.get, path, query: ["username": "eve"]).status == 400)
    let shown = try await bank.control(.get, "authenticator", query: ["username": "bob"])
    #expect(shown["secondsLeft"] == 30)
  }
}
