import Foundation
import Testing

@testable import UsherSandbox

@Suite("Control API of the BSA fake")
struct BSAControlTests {
  private func idCheck(_ app: BSAApp) async throws -> BSAApp.Answer {
    try await app.wire(.get, "/idcheck", ["userKey": "alice-key"])
  }

  @Test(
    "a scripted BSA answer replaces the envelope and the HTTP status, once or until it is deleted")
  func statuses() async throws {
    let app = try BSAApp()
    _ = try await app.control(
      .post, "answers", ["endpoint": "bsa.idCheck", "text": "Bad Gateway", "status": 502])
    let text = try await idCheck(app)
    #expect(text.status == 502)
    #expect(text.html == "Bad Gateway")
    #expect(text.reply.headers["Content-Type"] == "text/plain; charset=utf-8")
    _ = try await app.control(
      .post, "answers", ["endpoint": "*", "rtCode": 2009, "status": 409, "times": 0])
    for _ in 0..<3 {
      #expect(try await idCheck(app).status == 409)
      #expect(try await app.mail().rtCode == 2009)
    }
    #expect(try await app.send(.get, "/bsa/site").status == 200)
    #expect(try await app.control(.delete, "answers").json == ["answers": []])
    #expect(try await idCheck(app).json == ["rtCode": 0, "rtMsg": "OK"])
    _ = try await app.control(.post, "answers", ["endpoint": "bsa.idCheck", "status": 500])
    let odd = try await idCheck(app)
    #expect(odd.status == 500)
    #expect(odd.rtCode == 0)
    try await app.set(["refusalStatus": 400])
    #expect(try await app.wire(.get, "/idcheck").status == 400)
    #expect(try await app.wire(.get, "/idcheck").rtCode == 2002)
    #expect(try await idCheck(app).status == 200)
  }

  @Test(
    "the oldest scripted BSA answer that matches is used, and the list shows the remaining uses")
  func order() async throws {
    let app = try BSAApp()
    for answer: JSON in [
      ["endpoint": "bsa.idCheck", "rtCode": 1, "times": 2], ["endpoint": "*", "rtCode": 2],
    ] { _ = try await app.control(.post, "answers", answer) }
    #expect(try await idCheck(app).rtCode == 1)
    #expect(
      try await app.list("answers") == [
        ["endpoint": "bsa.idCheck", "rtCode": 1, "times": 1, "processed": false],
        ["endpoint": "*", "rtCode": 2, "times": 1, "processed": false],
      ])
    #expect(try await app.mail().rtCode == 2)
    #expect(try await idCheck(app).rtCode == 1)
    #expect(try await idCheck(app).rtCode == 0)
  }

  @Test(
    "an invalid BSA control request is refused with 400 and a description, and changes nothing",
    arguments: [
      ("answers", ["rtCode": 1]), ("answers", ["endpoint": "bsa.site", "rtCode": 1]),
      ("answers", ["endpoint": "idCheck", "rtCode": 1]), ("answers", ["endpoint": "*"]),
      ("answers", ["endpoint": "*", "rtCode": "2"]), ("answers", ["endpoint": "*", "code": 1]),
      ("answers", ["endpoint": "*", "status": 99]), ("settings", ["otpDigits": 0]),
      ("settings", ["attempts": 21]), ("settings", ["authSeconds": -1]),
      ("settings", ["timeoutCode": 5002]), ("settings", ["refusalStatus": 100]),
      ("settings", ["totpPerDay": -1]), ("settings", ["nothing": 1]),
      ("expire", ["what": "everything"]), ("signIns", ["by": "icon"]),
      ("signIns", ["client": "app"]), ("registrations", ["email": "x"]),
      ("registrations", ["phoneNum": "x"]), ("registrations", ["authType": 1]),
      ("registrations", ["deviceId": "x"]), ("registrations", ["state": "active"]),
    ] as [(String, JSON)])
  func nonsense(_ path: String, _ body: JSON) async throws {
    let app = try BSAApp()
    let answer = try await app.control(.post, path, body)
    #expect(answer.status == 400)
    #expect(answer.json["error_description"]?.text?.isEmpty == false)
    #expect(try await app.list("answers").isEmpty)
    #expect(try await app.list("registrations").isEmpty)
    #expect(try await app.list("signIns").isEmpty)
    #expect(
      try await app.control(.get, "settings").json == (try JSON(encoding: BSABackendSettings())))
  }

  @Test("the BSA control API registers users without a sign-up, with default, known or given data")
  func registrations() async throws {
    let app = try BSAApp()
    let first = try await app.control(.post, "registrations").json
    #expect(first["userKey"] == "member-1")
    #expect(first["email"] == "member-1@example.com")
    let bob = try await app.control(.post, "registrations", ["userKey": "bob"]).json
    #expect(bob["name"] == "Bob Brown")
    #expect(bob["phoneNum"] == "+447700900456")
    let own = try await app.control(
      .post, "registrations",
      [
        "userKey": "a@b", "name": "N", "email": "n@example.com", "phoneNum": "+12025550100",
        "authType": 4, "deviceId": .string(BSAApp.device),
      ]
    ).json
    #expect(own["authType"] == 4)
    #expect(own["deviceId"] == .string(BSAApp.device))
    let taken = try await app.control(.post, "registrations", ["userKey": "bob"])
    #expect(taken.status == 409)
    #expect(taken.json["error"] == "2009")
    let contact = try await app.control(.post, "registrations", ["email": "N@example.com"])
    #expect(contact.json["error"] == "2019")
    #expect(try await app.list("registrations").count == 3)
    #expect(
      try await app.control(.post, "registrations/nobody", ["state": "active"]).status == 404)
    #expect(try await app.control(.post, "registrations/bob", ["state": "gone"]).status == 400)
    #expect(try await app.control(.delete, "registrations/bob").status == 200)
    #expect(try await app.control(.delete, "registrations/bob").status == 404)
    #expect(try await app.list("registrations").count == 2)
  }
}
