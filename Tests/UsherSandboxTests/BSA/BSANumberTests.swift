import Foundation
import Testing

@testable import UsherSandbox

@Suite("BSA: numbers and disposeTokens")
struct BSANumberTests {
  @Test("a wrong number is a no in rtCode 0; the fifth spends the number")
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

  @Test("a number is over after its time, and by a control call; nobody asked is the same")
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

  @Test("another number takes the place of the one before, for this contact alone")
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

  @Test("there is a cool-down where it is set, and a limit for 24 hours; rtMsg says which")
  func limits() async throws {
    let app = try BSAApp()
    try await app.set(["resendSeconds": 30, "otpPerDay": 3])
    #expect(try await app.mail().rtCode == 0)
    app.wait(29)
    let early = try await app.mail()
    #expect(early.rtCode == 3006)
    #expect(early.json["rtMsg"] == "it is too early for another number")
    app.wait(1)
    #expect(try await app.mail().rtCode == 0)
    app.wait(30)
    #expect(try await app.mail().rtCode == 0)
    app.wait(30)
    let much = try await app.mail()
    #expect(much.rtCode == 3006)
    #expect(much.json["rtMsg"] == "there are no more numbers for this contact today")
    #expect(try await app.mail("bob@example.com").rtCode == 0)
    #expect(await app.workbench.outbox.messages(to: BSAApp.email).count == 3)
    app.wait(86_400 - 89)
    #expect(try await app.mail().rtCode == 0)
  }

  @Test("other lengths and attempts are settings")
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
    "what is missing or cannot be is 2002",
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

  @Test("a body that is none is 2002 too")
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
