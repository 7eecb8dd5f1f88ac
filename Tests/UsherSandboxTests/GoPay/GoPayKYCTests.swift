import Foundation
import Testing

@testable import UsherSandbox

@Suite("KYC results and callbacks of the GoPay fake")
struct GoPayKYCTests {
  private let address = "http://127.0.0.1:8790/v1/callback/partner"

  private func move(
    _ app: GoPayApp, _ opened: GoPayApp.OpenedCapture, _ body: JSON
  ) async throws -> GoPayApp.Answer {
    try await app.control(.post, "submissions/\(opened.id)", body)
  }

  @Test("the GoPay KYC pull returns the newest handed-in submission of its own user only")
  func newest() async throws {
    let app = try GoPayApp()
    #expect(try await app.pull().refusal == [1519, "SUBMISSION_NOT_FOUND"])
    _ = try await app.handedIn(requestID: "one")
    app.wait(1)
    let second = try await app.handedIn(requestID: "two")
    _ = try await app.open(requestID: "three")
    let data = try await app.pull().data
    #expect(data?["submissionId"] == .string(second.id) && data?["result"] == .null)
    for name in ["partner", "onboardingPartner", "documents", "submissionData", "createdAt"] {
      #expect(data?[name] != nil, "\(name)")
    }
    #expect(try await app.pull("bob-long-term").status == 404)
  }

  @Test("the GoPay KYC pull reports ERROR as IN_PROGRESS unless a setting exposes it")
  func error() async throws {
    let app = try GoPayApp()
    let opened = try await app.handedIn()
    _ = try await move(app, opened, ["status": "ERROR"])
    #expect(try await app.pull().data?["status"] == "IN_PROGRESS")
    try await app.set(["pullsError": true])
    #expect(try await app.pull().data?["status"] == "ERROR")
    #expect(try await app.pull().data?["result"] == .null)
    _ = try await move(app, opened, ["status": "COMPLETED", "result": "VALID"])
    #expect(try await app.pull().data?["result"] == "VALID")
  }

  @Test("a GoPay submission reaches the configured verdict in steps by the sandbox's clock")
  func byItself() async throws {
    let app = try GoPayApp()
    // Long enough that the automatic callback does not happen during the test.
    try await app.set(["verdict": "INVALID", "verdictSeconds": 1000, "reasonCode": "FAKE"])
    _ = try await app.handedIn()
    app.wait(499)
    #expect(try await app.pull().data?["status"] == "INITIATED")
    app.wait(1)
    #expect(try await app.pull().data?["status"] == "IN_PROGRESS")
    app.wait(500)
    let data = try await app.pull().data
    #expect([data?["status"], data?["result"]] == ["COMPLETED", "INVALID"])
    #expect(data?["reasonCode"] == "FAKE")
  }

  @Test("an automatic GoPay verdict is called back, but does not replace a status set by a test")
  func decided() async throws {
    let app = try GoPayApp()
    try await app.set([
      "verdict": "VALID", "verdictSeconds": 1_000_000, "callbackUrl": .string(address),
    ])
    let opened = try await app.handedIn()
    await app.gopay.decide(opened.id)
    #expect(app.partner.taken.map { $0.body["result"] } == ["VALID"])
    #expect(try await app.pull().data?["status"] == "COMPLETED")
    let other = try await app.handedIn(requestID: "two")
    _ = try await move(app, other, ["status": "ERROR", "push": false])
    await app.gopay.decide(other.id)
    #expect(app.partner.taken.count == 1)
  }

  @Test(
    "a GoPay callback carries the token that the log-in code was redeemed for, or the last used")
  func linked() async throws {
    let app = try GoPayApp()
    try await app.set(["callbackUrl": .string(address)])
    let code = try #require(try await app.login().parameter("authCode"))
    let redeemed = try await app.control(.post, "redeem", ["authCode": .string(code)]).json
    let token = try #require(try await app.sessionToken(code).data?["token"]?.text)
    let id = try #require(
      try await app.capture(GoPayApp.capturing(token)).data?["submissionId"]?.text)
    _ = try await app.control(.post, "submissions/\(id)/capture")
    _ = try await app.control(
      .post, "submissions/\(id)", ["status": "COMPLETED", "result": "VALID"])
    #expect(app.partner.taken.map(\.authorization) == [redeemed["token"]?.text])
    // If a session is reopened with another token, its callback carries that token.
    let first = try await app.open("alice-short-term", requestID: "req-2")
    let again = try await app.handedIn("alice-long-term", requestID: "req-2")
    #expect(again.id == first.id)
    _ = try await move(app, again, ["status": "COMPLETED", "result": "VALID"])
    #expect(app.partner.taken.last?.authorization == "alice-long-term")
  }

  @Test("a control call can send a GoPay callback twice, with another body and to another address")
  func odd() async throws {
    let app = try GoPayApp()
    let opened = try await app.open()
    let path = "submissions/\(opened.id)/push"
    let elsewhere = "http://127.0.0.1:1/"
    let answer = try await app.control(
      .post, path,
      [
        "url": .string(elsewhere), "times": 2, "value": "mine",
        "body": ["partnerSessionId": "other", "status": "COMPLETED", "result": .null],
      ])
    #expect(answer.status == 200)
    #expect(app.partner.taken.map(\.url) == [elsewhere, elsewhere])
    #expect(app.partner.taken.map(\.authorization) == ["mine", "mine"])
    #expect(
      app.partner.taken.last?.body == [
        "submissionId": .string(opened.id), "partnerSessionId": "other", "status": "COMPLETED",
      ])
    let pushes = try await app.control(.get, "pushes").json["pushes"]
    guard case .array(let list)? = pushes else { throw GoPayApp.AppError(description: "no pushes") }
    #expect(list.map { $0["number"] } == [1, 2])
    #expect(list.map { $0["status"] } == [200, 200])
  }

  @Test(
    "a GoPay callback URL must be plain http on a loopback address with a port",
    arguments: [
      ("http://127.0.0.1:8790/v1/callback/partner", true), ("http://[::1]:8790/?a=b", true),
      ("http://127.0.0.1:8790", true), ("http://127.0.0.1/x", false),
      ("https://127.0.0.1:8790/x", false), ("http://localhost:8790/x", false),
      ("http://example.com:80/x", false), ("http://127.0.0.1:8790/x#y", false),
      ("http://u@127.0.0.1:8790/", false), ("http://127.0.0.1:0/", false), ("x", false),
    ])
  func addresses(_ text: String, _ isOne: Bool) async throws {
    #expect((CallbackURL(text) != nil) == isOne)
    let app = try GoPayApp()
    let answer = try await app.control(.post, "settings", ["callbackUrl": .string(text)])
    #expect(answer.status == (isOne ? 200 : 400))
  }
}
