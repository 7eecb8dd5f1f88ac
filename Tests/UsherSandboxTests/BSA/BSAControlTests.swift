import Foundation
import Testing

@testable import UsherSandbox

@Suite("BSA: what tests may change")
struct BSAControlTests {
  private func idCheck(_ app: BSAApp) async throws -> BSAApp.Answer {
    try await app.wire(.get, "/idcheck", ["userKey": "alice-key"])
  }

  @Test("any rtCode is answered for as many calls as were asked for, and nothing is done")
  func rtCodes() async throws {
    let app = try BSAApp()
    for code: JSON in [2012, 4711, -1, 0] {
      let answer: JSON = [
        "endpoint": "bsa.mail", "rtCode": code, "rtMsg": "as asked", "times": 2,
      ]
      #expect(try await app.control(.post, "answers", answer).status == 201)
      for _ in 0..<2 {
        #expect(try await app.mail().json == ["rtCode": code, "rtMsg": "as asked"])
      }
    }
    #expect(await app.workbench.outbox.messages().isEmpty)
    #expect(try await app.list("answers").isEmpty)
    #expect(try await app.mail().rtCode == 0)
    #expect(await app.workbench.outbox.messages().count == 1)
  }

  @Test("one that is carried out all the same is done, whatever is answered")
  func processed() async throws {
    let app = try BSAApp()
    let answer: JSON = ["endpoint": "bsa.users", "rtCode": 2001, "processed": true]
    let token = try await app.disposeToken()
    _ = try await app.control(.post, "answers", answer)
    #expect(try await app.signUp(token: token).rtCode == 2001)
    #expect(try await app.list("registrations").count == 1)
  }

  @Test("result, secretKey, channelKey or all of data are left out, or are something else")
  func data() async throws {
    let app = try BSAApp()
    _ = try await app.mail()
    let override: JSON = ["endpoint": "bsa.mailVerify", "data": ["result": .null, "more": 1]]
    _ = try await app.control(.post, "answers", override)
    let bent = try await app.verifyMail(try await app.number())
    #expect(bent.rtCode == 0)
    #expect(bent.data?["result"] == nil)
    #expect(bent.data?["more"] == 1)
    let token = try #require(bent.data?["disposeToken"]?.text)
    _ = try await app.control(.post, "answers", ["endpoint": "bsa.users", "data": .null])
    #expect(try await app.signUp(token: token).json == ["rtCode": 0, "rtMsg": "OK"])
    #expect(try await app.list("registrations").count == 1)
    _ = try await app.control(.post, "answers", ["endpoint": "bsa.authExist", "data": "yes"])
    #expect(try await app.exist().data == "yes")
    _ = try await app.control(.post, "answers", ["endpoint": "bsa.auth", "data": ["x": 1]])
    #expect(try await app.open().json["data"] == nil)
  }

  @Test("no envelope, other HTTP statuses, and one answer for every call until it is deleted")
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

  @Test("the oldest answer that fits is taken, and the list tells what is left")
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
    "what makes no sense is refused with 400, and changes nothing",
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
    #expect(try await app.control(.get, "settings").json == (try JSON(encoding: BSASettings())))
  }

  @Test("somebody is registered without signing up: made up, of the people, or as one says")
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

  @Test("a site's sign-in is begun, watched and ended without its page")
  func signIns() async throws {
    let app = try BSAApp()
    try await app.registered()
    let push = try await app.control(.post, "signIns")
    #expect(push.status == 201)
    #expect(push.json["userKey"] == "alice-key")
    #expect(push.json["by"] == "push")
    #expect(push.json["state"] == "waiting")
    #expect(try await app.exist().data?["isExist"] == true)
    let busy = try await app.control(.post, "signIns", [:])
    #expect(busy.status == 409)
    #expect(busy.json["error"] == "2010")
    let id = try #require(push.json["id"]?.text)
    #expect(try await app.control(.post, "signIns/\(id)", ["state": "no"]).status == 400)
    let ended = try await app.control(.post, "signIns/\(id)", ["state": "timedOut"])
    #expect(ended.json["state"] == "timedOut")
    #expect(try await app.open().rtCode == 5000)
    #expect(try await app.control(.post, "signIns/\(id)", ["state": "cancelled"]).status == 409)
    #expect(try await app.control(.post, "signIns/x", ["state": "cancelled"]).status == 404)
    let qr = try await app.control(.post, "signIns", ["by": "qr"]).json
    let qrID = try #require(qr["qrId"])
    _ = try await app.channel(["qrId": qrID])
    let qrPath = "signIns/\(try #require(qr["id"]?.text))"
    _ = try await app.control(.post, qrPath, ["state": "cancelled"])
    #expect(try await app.complete(["qrId": qrID]).rtCode == 5011)
    let number: JSON = .string(try await app.loginNumber())
    let otp = try await app.control(.post, "signIns", ["by": "otp", "number": number])
    #expect(otp.status == 201)
    _ = try await app.control(.post, "expire")
    #expect(try await app.control(.get, "signIns/\(id)").json["state"] == "timedOut")
    #expect(
      try await app.list("signIns").map { $0["state"] } == ["timedOut", "cancelled", "timedOut"])
    let totp = try #require(try await app.list("registrations").first?["totp"])
    let third = try await app.control(.post, "signIns", ["by": "totp", "number": totp])
    #expect(third.status == 201)
    let other = try await app.control(.post, "signIns", ["by": "qr", "client": "other"]).json
    #expect(try await app.open(["qrId": try #require(other["qrId"])]).rtCode == 5024)
  }

  @Test("tokens end by a control call, and settings go back to what they were")
  func ends() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    let channel = try await app.channel()
    _ = try await app.complete()
    let token = try #require(try await app.result(channel).data?.text)
    _ = try await app.control(.post, "expire", ["what": "tokens"])
    let me = try await app.send(.get, "/bsa/me", headers: ["authorization": token])
    #expect(me.rtCode == 2003)
    try await app.set(["authSeconds": 1])
    #expect(try await app.control(.delete, "settings").json["authSeconds"] == 30)
    try await app.set(["authSeconds": 1, "otpPerDay": 5])
    try await app.set(["authSeconds": .null])
    let settings = try await app.control(.get, "settings").json
    #expect(settings["authSeconds"] == 30)
    #expect(settings["otpPerDay"] == 5)
  }
}
