import Foundation
import Testing

@testable import UsherSandbox

@Suite("Control API of the Paysafe fake")
struct PaysafeControlTests {
  @Test("the SCA event of a wallet operation offers the verifications that the settings allow")
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

  @Test("an SCA event does not offer SMS or PIN to a customer without a phone and a PIN")
  func poorUser() async throws {
    let clock = SandboxClock { start }
    let zoe = User(username: "zoe", password: "p")
    let paysafe = PaysafeBackend(
      BackendContext(
        users: Users([zoe]), clock: clock, tokenGenerator: TokenGenerator(), pages: try Pages()))
    let event = await paysafe.openEvent(for: zoe, nil, PaysafeBackendSettings(), start)
    #expect(
      event.available.map(\.name) == [
        "OTP.EMAIL", "OTP.AUTHENTICATOR", "PASSWORD", "PUSH_NOTIFICATION", "BIOMETRIC.REDIRECT",
      ])
  }

  @Test("settings falsify the counters of one SCA reply or omit the counters from all replies")
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

  @Test("a control call changes the counters, limits and expiry of one SCA event")
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
  }

  @Test("a control call creates an SCA event with the given user, limits and times")
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
  }

  @Test("a control call decides an open push challenge and is refused without one")
  func decision() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    let path = "/_control/paysafe/events/\(event.id)/decision"
    #expect(try await bank.send(.post, path, json: ["approve": true]).status == 409)
    _ = try await event.challenge("PIN")
    #expect(try await bank.send(.post, path, json: ["approve": true]).status == 409)
    _ = try await event.challenge("PUSH_NOTIFICATION")
    #expect(try await event.attempt("PUSH_NOTIFICATION", "1").refusal() == "INVALID_REQUEST")
    #expect(try await bank.send(.post, path, json: ["approve": "yes"]).status == 400)
    let reply = try await bank.send(.post, path, json: ["approve": false])
    #expect(try reply.json()["status"] == "REJECTED")
  }

  @Test("Paysafe tokens are listed with their kind and state and without the token values")
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

  @Test("settings override members and the status of replies about an SCA event")
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

  @Test("a control call unlocks a Paysafe customer after five wrong PINs")
  func locks() async throws {
    let bank = try Bank()
    let page = try await bank.authorize()
    for _ in 0..<5 { _ = try await bank.login(on: page, ["username": "alice", "pin": "0"]) }
    let right = ["username": "alice", "pin": "2468"]
    #expect(try await bank.login(on: page, right).status == 403)
    _ = try await bank.control(.delete, "locks")
    #expect(try await bank.login(on: page, right).status == 303)
  }

  @Test(
    "an invalid Paysafe control call is refused with 400 or 404 and changes no setting",
    arguments: [
      ("events", ["username": "eve"], 400), ("events", ["x": 1], 400),
      ("events", ["availableVerifications": ["FAX"]], 400), ("events", ["eventSeconds": "1"], 400),
      ("events/EVENT", ["expire": "all"], 400), ("events/EVENT", ["currentAttempts": -1], 400),
      ("events/EVENT", ["x": 1], 400), ("events/EVENT", [], 400), ("events/evt_x", [:], 404),
      ("tokens", ["username": "eve"], 400), ("tokens", ["clientID": "x"], 400),
      ("tokens", ["brandIdentity": "x"], 400), ("tokens", ["x": 1], 400), ("tokens", [], 400),
      ("settings", ["scaAmount": 6, "nope": 1], 400),
    ] as [(String, JSON, Int)])
  func misfits(_ path: String, _ body: JSON, _ status: Int) async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    let path = "/_control/paysafe/" + path.replacing("EVENT", with: event.id)
    #expect(try await bank.send(.post, path, json: body).status == status)
    #expect(try await bank.control(.get, "settings")["scaAmount"] == 100)
  }

  @Test("the Paysafe endpoints have the expected names for faults and the request log")
  func names() throws {
    let names = [
      "authorize", "login", "token", "event", "challenge", "attempt", "push", "redirect",
      "balance", "payment", "payments", "payees", "payee", "limits",
    ]
    #expect(Set(try Bank().paysafe.endpoints.map(\.name)) == Set(names.map { "paysafe.\($0)" }))
  }
}
