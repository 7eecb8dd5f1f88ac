import Foundation
import Testing

@testable import UsherSandbox

@Suite("One-time codes of the BSA fake")
struct BSANumberTests {
  @Test(
    "a wrong BSA code is answered with rtCode 0 and result false, and the fifth uses the code up")
  func wrong() async throws {
    let app = try BSAApp()
    _ = try await app.mail()
    let code = try await app.number()
    for left in (0...4).reversed() {
      let answer = try await app.verifyMail(code == "000000" ? "000001" : "000000")
      #expect(answer.json == ["rtCode": 0, "rtMsg": "OK", "data": ["result": false]])
      #expect(try await app.list("numbers").first?["attemptsLeft"] == .integer(left))
    }
    #expect(try await app.verifyMail(code).rtCode == 3006)
    #expect(try await app.list("numbers").map { $0["state"] } == ["spent"])
  }

  @Test("a BSA code that was never requested, has timed out or was expired is refused with 3006")
  func over() async throws {
    let app = try BSAApp()
    #expect(try await app.verifyMail("123456").rtCode == 3006)
    _ = try await app.mail()
    app.wait(179)
    _ = try await app.mail()
    let code = try await app.number()
    app.wait(179)
    #expect(try await app.verifyMail(code).data?["result"] == true)
    _ = try await app.mail()
    app.wait(180)
    #expect(try await app.verifyMail(try await app.number()).rtCode == 3006)
    _ = try await app.mail()
    #expect(try await app.control(.post, "expire", ["what": "numbers"]).status == 200)
    #expect(try await app.verifyMail(try await app.number()).rtCode == 3006)
    #expect(try await app.list("numbers").map { $0["state"] } == ["expired"])
  }

  @Test("a new BSA code replaces the earlier code of the same contact and of no other contact")
  func again() async throws {
    let app = try BSAApp()
    _ = try await app.mail()
    let first = try await app.number()
    _ = try await app.mail("bob@example.com")
    _ = try await app.mail("ALICE@example.com")
    let second = try await app.number(to: "ALICE@example.com")
    if first != second { #expect(try await app.verifyMail(first).data?["result"] == false) }
    #expect(try await app.verifyMail(second).data?["result"] == true)
    let others = try await app.number(to: "bob@example.com")
    #expect(try await app.verifyMail(others, of: "bob@example.com").data?["result"] == true)
  }

  @Test("BSA refuses a code request with 3006 in the cool-down and over the daily limit")
  func limits() async throws {
    let app = try BSAApp()
    try await app.set(["resendSeconds": 30, "otpPerDay": 3])
    #expect(try await app.mail().rtCode == 0)
    app.wait(29)
    let early = try await app.mail()
    #expect(early.rtCode == 3006)
    #expect(early.json["rtMsg"] == "another OTP number cannot be sent yet")
    app.wait(1)
    #expect(try await app.mail().rtCode == 0)
    app.wait(30)
    #expect(try await app.mail().rtCode == 0)
    app.wait(30)
    let much = try await app.mail()
    #expect(much.rtCode == 3006)
    #expect(much.json["rtMsg"] == "no more OTP numbers can be sent to this contact today")
    #expect(try await app.mail("bob@example.com").rtCode == 0)
    #expect(await app.context.outbox.messages(to: BSAApp.email).count == 3)
    app.wait(86_400 - 89)
    #expect(try await app.mail().rtCode == 0)
  }

  @Test("the length of BSA codes and the number of attempts follow the settings")
  func settings() async throws {
    let app = try BSAApp()
    try await app.set(["otpDigits": 8, "attempts": 1, "otpSeconds": 10])
    _ = try await app.mail()
    let code = try await app.number()
    #expect(code.utf8.count == 8)
    #expect(try await app.verifyMail("1").data?["result"] == false)
    #expect(try await app.verifyMail(code).rtCode == 3006)
  }

  @Test(
    "a BSA code request or check with a missing or invalid parameter is refused with 2002",
    arguments: [
      ("/mail", ["emailType": "HTML"]), ("/mail", ["email": "alice@example.com"]),
      ("/mail", ["email": "alice@example.com", "emailType": "TEXT"]),
      ("/mail", ["email": "alice", "emailType": "HTML"]),
      ("/mail", ["email": "alice@", "emailType": "HTML"]),
      ("/mail", ["email": 7, "emailType": "HTML"]), ("/sms", [:]),
      ("/sms", ["phoneNum": "123456"]), ("/sms", ["phoneNum": "1234567890123456"]),
      ("/sms", ["phoneNum": "+44 phone 7700"]), ("/sms", ["phoneNum": "12+34567"]),
      ("/mail/verify", ["email": "alice@example.com"]), ("/mail/verify", ["authNum": "123456"]),
      ("/sms/verify", ["phoneNum": "+447700900123", "authNum": ""]),
    ] as [(String, [String: JSON])])
  func missing(_ path: String, _ members: [String: JSON]) async throws {
    let app = try BSAApp()
    let answer = try await app.wire(.post, path, members)
    #expect(answer.status == 200)
    #expect(answer.rtCode == 2002)
    #expect(answer.json["data"] == nil)
  }

  @Test(
    "a BSA request with a malformed body, a wrong content type or a repeated parameter gets 2002")
  func bodies() async throws {
    let app = try BSAApp()
    for body in ["", "[]", "{", "email=x"] {
      #expect(try await app.send(.post, "/bsa/mail", body: Array(body.utf8)).rtCode == 2002)
    }
    let answer = try await app.send(.post, "/bsa/mail", body: Array("{}".utf8), type: "text/plain")
    #expect(answer.rtCode == 2002)
    #expect(try await app.send(.get, "/bsa/idcheck?userKey=a&userKey=b").rtCode == 2002)
  }
}
