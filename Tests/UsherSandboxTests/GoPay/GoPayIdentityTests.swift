import Foundation
import Testing

@testable import UsherSandbox

@Suite("GoPay identity host in the sandbox")
struct GoPayIdentityTests {
  @Test(
    "GoPay's identity host accepts or refuses each predefined token as documented",
    arguments: [
      ("alice-short-term", 200, nil), ("bob-short-term", 200, nil), ("alice-long-term", 200, nil),
      ("bob-long-term", 200, nil), ("short-term-linking-token", 200, nil),
      ("linking-token-xyz", 200, nil), ("long-term-token", 200, nil),
      ("expired-token", 401, 1401), ("not-whitelisted-token", 403, 1403), ("nope", 401, 1401),
      ("Bearer long-term-token", 401, 1401), ("bearer long-term-token", 401, 1401),
    ] as [(String, Int, Int?)])
  func tokens(_ token: String, _ status: Int, _ code: Int?) async throws {
    let app = try GoPayApp()
    let answers = [try await app.authCode(token), try await app.temporaryToken(token)]
    for answer in answers {
      #expect(answer.status == status)
      #expect(answer.json["success"] == .bool(status == 200))
      #expect(answer.refusal.first == code.map { .integer($0) })
    }
    // The KYC pull accepts the same tokens, and then finds no submission.
    #expect(try await app.pull(token).status == (status == 200 ? 404 : status))
  }

  @Test(
    "a GoPay identity call without a required header is refused with 1539 and the header's name",
    arguments: ["x-merchant-id", "request-id", "correlation-id", "authorization"])
  func missingHeaders(_ name: String) async throws {
    let app = try GoPayApp()
    var headers = GoPayApp.holding("long-term-token")
    headers[name] = nil
    for answer in [
      try await app.authCode(headers: headers), try await app.temporaryToken(headers: headers),
    ] {
      #expect(answer.status == 400)
      #expect(answer.refusal == [1539, .string("\(name) is missing")])
    }
  }

  @Test("GoPay's identity host refuses another merchant or client with 1403")
  func strangers() async throws {
    let app = try GoPayApp()
    var headers = GoPayApp.holding("long-term-token")
    headers["x-merchant-id"] = "other"
    #expect(try await app.temporaryToken(headers: headers).refusal.first == 1403)
    let other: JSON = ["clientId": "other", "userCorrelationId": "corr-5678"]
    #expect(try await app.authCode(body: other).refusal.first == 1403)
    #expect(try await app.sessionToken("gac_nope", client: "other").refusal.first == 1403)
  }

  @Test(
    "a missing, wrong or unknown member of a GoPay auth-code request is refused and named",
    arguments: [
      (["clientId": "acme-sdk"], "userCorrelationId"), (["userCorrelationId": "c"], "clientId"),
      (["clientId": "acme-sdk", "userCorrelationId": 1], "userCorrelationId"),
      (["clientId": "acme-sdk", "userCorrelationId": "c", "nope": 1], "nope"), ([], "object"),
    ] as [(JSON, String)])
  func wrongMembers(_ body: JSON, _ name: String) async throws {
    let answer = try await GoPayApp().authCode(body: body)
    #expect(answer.status == 400)
    #expect(answer.refusal.first == 1539)
    #expect(answer.refusal.last??.text?.contains(name) == true)
  }

  @Test("a GoPay session token is issued only after its auth code was redeemed")
  func sessionToken() async throws {
    let app = try GoPayApp()
    let code = try #require(try await app.login().parameter("authCode"))
    let early = try await app.sessionToken(code)
    #expect(early.status == 409)
    #expect(early.refusal == [1601, "AUTH_CODE_NOT_REDEEMED"])
    _ = try await app.control(.post, "redeem", ["authCode": .string(code)])
    let token = try #require(try await app.sessionToken(code).data?["token"]?.text)
    // The token is a Base64-encoded JWT.
    let jwt = try #require(Base64.decoded(token)).split(separator: UInt8(ascii: "."))
    #expect(jwt.count == 3)
    #expect(try await app.capture(GoPayApp.capturing(token)).status == 200)
    app.wait(3600)
    #expect(try await app.sessionToken(code).status == 200)
    #expect(try await app.sessionToken("gac_nope").refusal.first == 1401)
    let late = try #require(try await app.authCode().data?["authCode"]?.text)
    app.wait(360)
    #expect(try await app.sessionToken(late).refusal.first == 1401)
  }

  @Test("GoPay refuses expired tokens, revoked tokens and tokens of closed accounts with 1401")
  func endings() async throws {
    let app = try GoPayApp()
    let issued = try await app.control(
      .post, "tokens", ["username": "bob", "term": "short", "token": "mine"])
    #expect(issued.json["token"] == "mine")
    app.wait(3599)
    #expect(try await app.temporaryToken("mine").status == 200)
    app.wait(1)
    #expect(try await app.temporaryToken("mine").refusal.first == 1401)
    #expect(try await app.temporaryToken("bob-short-term").status == 200)
    try await app.set(["closedAccounts": ["bob"]])
    #expect(try await app.temporaryToken("bob-short-term").refusal.first == 1401)
    #expect(try await app.temporaryToken().status == 200)
    _ = try await app.control(.post, "revokeAll")
    #expect(try await app.temporaryToken().refusal.first == 1401)
    let closed = try await app.control(.post, "tokens", ["whitelisted": false]).json["token"]
    #expect(try await app.temporaryToken(try #require(closed?.text)).refusal.first == 1403)
  }

  @Test("settings override the data of GoPay auth-code and temporary-token replies")
  func bent() async throws {
    let app = try GoPayApp()
    try await app.set([
      "authCodeReply": ["authCode": 1], "temporaryTokenReply": ["token": .null],
    ])
    #expect(try await app.authCode().data == ["authCode": 1])
    #expect(try await app.temporaryToken().data == [:])
  }
}
