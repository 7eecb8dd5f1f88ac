import Foundation
import Testing

@testable import UsherSandbox

@Suite("SCA challenges and attempts of the Paysafe fake")
struct PaysafeScaTests {
  private let phone = "+447700900123"

  @Test("each SCA challenge sends a new code, and only the newest code is accepted")
  func freshCodes() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    _ = try await event.challenge("OTP.EMAIL")
    _ = try await event.challenge("OTP.EMAIL")
    let codes = try await bank.outbox("alice@example.com").compactMap(\.code)
    try #require(codes.count == 2)
    #expect(codes[0] != codes[1])
    let json = try await event.attempt("OTP.EMAIL", codes[1]).json()
    #expect(json["status"] == "FAILED")
    #expect(json["statusReason"] == "INVALID_VALUE")
    #expect(try await event.attempt("OTP.EMAIL", codes[0]).json()["status"] == "VERIFIED")
  }

  @Test("an SCA message is in the challenge's language if it is supported, otherwise in English")
  func language() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    for (language, start) in [("de-AT", "Ihr Code"), ("fr", "Your code"), ("en", "Your code")] {
      bank.clock.offset += 60
      _ = try await event.challenge("OTP.SMS", action: ["language": .string(language)])
      #expect(try await bank.outbox(phone).first?.text.hasPrefix(start) == true)
      _ = try await bank.control(.post, "events/\(event.id)", ["currentChallenges": 0])
    }
  }

  @Test("an authenticator code verifies one SCA event and is refused for the next event")
  func authenticator() async throws {
    let bank = try Bank()
    let customer = try await bank.customer()
    func code(_ username: String = "alice") async throws -> String {
      let shown = try await bank.control(.get, "authenticator", query: ["username": username])
      return try #require(shown["code"]?.text)
    }
    let first = try await customer.event()
    _ = try await first.challenge("OTP.AUTHENTICATOR")
    let used = try await code()
    #expect(try await first.attempt("OTP.AUTHENTICATOR", code("bob")).json()["status"] == "FAILED")
    #expect(try await first.attempt("OTP.AUTHENTICATOR", used).json()["status"] == "VERIFIED")
    let second = try await customer.event()
    _ = try await second.challenge("OTP.AUTHENTICATOR")
    #expect(try await second.attempt("OTP.AUTHENTICATOR", used).json()["status"] == "FAILED")
    bank.wait(30)
    #expect(try await second.attempt("OTP.AUTHENTICATOR", code()).json()["status"] == "VERIFIED")
  }

  @Test("an SCA push is approved or denied on its page, whose address is in the outbox")
  func push() async throws {
    let bank = try Bank()
    for (decision, status) in [("approve", "VERIFIED"), ("deny", "REJECTED")] {
      let event = try await bank.customer().event()
      #expect(try await event.challenge("PUSH_NOTIFICATION").status == 201)
      #expect(try await event.read().json()["status"] == "PENDING")
      let message = try #require(try await bank.outbox("alice").first)
      #expect(message.channel == .push)
      let page = try #require(message.text.firstMatch(of: /http:\/\/127.0.0.1:1(\S+)/)?.1)
      #expect(try await bank.send(.get, String(page)).text.contains("confirm your identity"))
      let wrong = try await bank.send(.post, String(page), form: ["decision": "perhaps"])
      #expect(wrong.status == 400)
      let done = try await bank.send(.post, String(page), form: ["decision": decision])
      #expect(done.status == 200)
      #expect(try await event.read().json()["status"] == .string(status))
      #expect(try await bank.send(.get, String(page)).status == 400)
      #expect(try await bank.send(.post, String(page), form: ["decision": "deny"]).status == 400)
    }
  }

  @Test("an SCA redirect challenge returns to its return URL with the status of the decision")
  func redirect() async throws {
    let bank = try Bank()
    try await bank.set(["returnUrls": ["https://partner.example/back"]])
    func decide(_ decision: String, _ returnURL: String) async throws -> (Reply, JSON) {
      let event = try await bank.customer().event()
      let reply = try await event.challenge(
        "BIOMETRIC.REDIRECT", action: ["returnUrl": .string(returnURL)])
      let url = try #require(reply.json()["verification"]?["action"]?["redirectUrl"]?.text)
      let read = try await event.read().json()["challenge"]?["verification"]?["action"]
      #expect(read?["redirectUrl"] == .string(url))
      let page = String(url.dropFirst("http://127.0.0.1:1".count))
      #expect(try await bank.send(.get, page).status == 200)
      let push = page.replacing("/redirect/", with: "/push/")
      #expect(try await bank.send(.get, push).status == 400)
      let done = try await bank.send(.post, page, form: ["decision": decision])
      return (done, try await event.read().json())
    }
    let (approved, verified) = try await decide("approve", "https://partner.example/back?a=1")
    #expect(approved.status == 303)
    #expect(approved.headers["Location"] == "https://partner.example/back?a=1&status=success")
    #expect(verified["status"] == "VERIFIED")
    let (denied, rejected) = try await decide("deny", "http://127.0.0.1:7/back")
    #expect(denied.headers["Location"] == "http://127.0.0.1:7/back?status=fail")
    #expect(rejected["status"] == "REJECTED")
    #expect(rejected["statusReason"] == "CUSTOMER_REJECTED")
    try await bank.set(["redirectStatus": "success"])
    let (lying, still) = try await decide("deny", "http://127.0.0.1:7/back")
    #expect(lying.headers["Location"] == "http://127.0.0.1:7/back?status=success")
    #expect(still["status"] == "REJECTED")
  }

  @Test("an SCA redirect challenge needs a return URL that is registered or on loopback")
  func returnURLs() async throws {
    let bank = try Bank()
    try await bank.set(["returnUrls": ["https://partner.example/back"]])
    let event = try await bank.customer().event()
    func code(_ action: JSON?) async throws -> String? {
      try await event.challenge("BIOMETRIC.REDIRECT", action: action).refusal()
    }
    #expect(try await code(nil) == "INVALID_REQUEST")
    #expect(try await code(["language": "en"]) == "INVALID_REQUEST")
    #expect(try await code(["returnUrl": "javascript:alert(1)"]) == "INVALID_REQUEST")
    for url in [
      "https://partner.example/back/", "https://evil.example/back", "http://partner.example/back",
      "https://partner.example:444/back", "http://localhost:7/back",
    ] {
      #expect(try await code(["returnUrl": .string(url)]) == "RETURN_URL_NOT_ALLOWED")
    }
    #expect(try await event.read().json()["currentChallenges"] == 0)
  }

  @Test("an SCA event shows its open challenge and can be read until it expires")
  func reading() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event(["availableVerifications": ["PIN"]])
    let fresh = try await event.read().json()
    #expect(fresh["status"] == "PENDING")
    #expect(fresh["statusReason"] == nil)
    #expect(fresh["challenge"] == nil)
    #expect(fresh["availableVerifications"] == [["method": "PIN"]])
    #expect(fresh["expirationTime"] == "2027-01-15T08:15:00Z")
    _ = try await event.challenge("PIN")
    let open = try await event.read().json()
    #expect(
      open["challenge"] == [
        "verification": ["method": "PIN"], "expirationTime": "2027-01-15T08:05:00Z",
      ])
    bank.wait(300)
    #expect(try await event.read().json()["challenge"] == nil)
    // A new token is needed: the first one expires together with the event.
    try await bank.set(["accessTokenSeconds": 100_000])
    let customer = try await bank.customer()
    bank.wait(600)
    let late = try Event(customer, event.details)
    #expect(try await late.read().refusal() == "EVENT_EXPIRED")
    #expect(try await late.challenge("PIN").status == 410)
  }

  @Test("a verified or failed SCA event can still be read after its lifetime")
  func readableEnds() async throws {
    let bank = try Bank()
    try await bank.set(["accessTokenSeconds": 100_000])
    let verified = try await bank.customer().event()
    try await verified.verifyByPIN()
    let failed = try await bank.customer().event(["allowableAttempts": 1])
    _ = try await failed.challenge("PIN")
    let last = try await failed.attempt("PIN", "0000").json()
    #expect(last["statusReason"] == "ATTEMPTS_EXHAUSTED")
    bank.wait(2000)
    #expect(try await verified.read().json()["status"] == "VERIFIED")
    #expect(try await failed.read().json()["status"] == "FAILED")
    #expect(try await failed.attempt("PIN", "2468").status == 422)
  }

  @Test("another customer's SCA event is not found, like one that does not exist")
  func strangers() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    let bob = try await bank.customer("bob")
    for stranger in [
      try Event(bob, event.details),
      try Event(
        try await bank.customer(), ["eventId": "evt_x", "walletOperationId": "wop_x"]),
    ] {
      #expect(try await stranger.read().refusal() == "SCA_EVENT_NOT_FOUND")
      #expect(try await stranger.challenge("PIN").status == 404)
      #expect(try await stranger.attempt("PIN", "2468").status == 404)
    }
  }

  @Test("an SCA call with the wrong wallet operation is refused and counts as no attempt")
  func otherOperation() async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    let wrong = try Event(
      event.customer, ["eventId": .string(event.id), "walletOperationId": "wop_x"])
    #expect(try await wrong.challenge("PIN").refusal() == "INVALID_REQUEST")
    _ = try await event.challenge("PIN")
    #expect(try await wrong.attempt("PIN", "2468").refusal() == "INVALID_REQUEST")
    #expect(try await event.read().json()["currentAttempts"] == 0)
  }

  @Test(
    "a wallet or SCA call with a missing or invalid token gets 401 with a Bearer challenge",
    arguments: [
      nil, "Bearer", "Bearer x", "Bearer a.b.c", "Basic eDp5",
      // An unsigned token with valid claims.
      "Bearer eyJhbGciOiJub25lIn0.eyJqdGkiOiJhdF94In0.",
    ])
  func badTokens(_ header: String?) async throws {
    let bank = try Bank()
    let event = try await bank.customer().event()
    for (method, path) in [
      (Endpoint.Method.get, "/paysafe/auth/sca/events/\(event.id)"),
      (.post, "/paysafe/auth/sca/events/\(event.id)/challenges"),
      (.post, "/paysafe/auth/sca/events/\(event.id)/attempts"),
      (.get, "/paysafe/wallets/wlt_alice/balance"),
    ] {
      let reply = try await bank.send(
        method, path, json: [:], headers: header.map { ["authorization": $0] } ?? [:])
      #expect(reply.status == 401)
      #expect(
        reply.headers["WWW-Authenticate"]
          == (header == nil ? "Bearer" : #"Bearer error="invalid_token""#))
    }
  }

  @Test("a wallet call with an expired or revoked token gets 401, and with a config token 403")
  func endedTokens() async throws {
    let bank = try Bank()
    let old = try await bank.customer()
    let balance = "/wallets/wlt_alice/balance"
    #expect(try await old.send(.get, balance).status == 200)
    bank.wait(900)
    #expect(try await old.send(.get, balance).status == 401)
    let ended = try await bank.customer()
    _ = try await bank.control(.post, "endAccessTokens")
    #expect(try await ended.send(.get, balance).status == 401)
    let revoked = try await bank.customer()
    _ = try await bank.control(.post, "revokeAll")
    #expect(try await revoked.send(.get, balance).status == 401)
    let config = try await bank.token(["grant_type": "client_credentials"]).json()
    let customer = Customer(
      bank: bank, username: "alice", token: try #require(config["access_token"]?.text))
    let reply = try await customer.send(.get, balance)
    #expect(reply.status == 403)
    #expect(reply.headers["WWW-Authenticate"] == #"Bearer error="insufficient_scope""#)
  }

  @Test(
    "an invalid SCA challenge request is refused with the name of the invalid member",
    arguments: [
      (#"[]"#, "body"), (#"{"#, "JSON"), (#"{"walletOperationId":1}"#, "walletOperationId"),
      (#"{"walletOperationId":"w"}"#, "verification"),
      (#"{"walletOperationId":"w","verification":{"method":"FAX"}}"#, "verification.method"),
      (
        #"{"walletOperationId":"w","verification":{"method":"OTP","channel":"FAX"}}"#,
        "verification.channel"
      ),
      (
        #"{"walletOperationId":"w","verification":{"method":"PIN","action":{"language":"?"}}}"#,
        "verification.action.language"
      ),
      (
        #"{"walletOperationId":"w","verification":{"method":"PIN"},"x":1}"#,
        "x is not a known member"
      ),
    ])
  func badChallenges(_ body: String, _ word: String) async throws {
    var call = EndpointCall(.post, "/paysafe/auth/sca/events/e/challenges", base: "")
    call.headers["content-type"] = "application/json"
    call.body = Array(body.utf8)
    let description = try #require(
      throws: OAuthError.self, performing: { try ScaLedger.ChallengeRequest(call, allowed: []) })
    #expect(description.description.contains(word))
  }

  @Test(
    "an SCA attempt request without a text value or with an unknown member is refused",
    arguments: [
      (#","value":"1""#, nil), ("", "value"), (#","value":123456"#, "value"),
      (#","value":"1","x":2"#, "x is not a known member"),
    ] as [(String, String?)])
  func attempts(_ more: String, _ word: String?) throws {
    var call = EndpointCall(.post, "/paysafe/auth/sca/events/e/attempts", base: "")
    call.headers["content-type"] = "application/json"
    call.body = Array(#"{"walletOperationId":"w","verification":{"method":"PIN"}\#(more)}"#.utf8)
    guard let word else {
      _ = try ScaLedger.AttemptRequest(call)
      return
    }
    let refusal = try #require(
      throws: OAuthError.self, performing: { try ScaLedger.AttemptRequest(call) })
    #expect(refusal.description.contains(word))
  }
}
