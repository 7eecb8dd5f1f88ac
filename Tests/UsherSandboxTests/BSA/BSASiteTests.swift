import Foundation
import Testing

@testable import UsherSandbox

@Suite("QR and one-time-code sign-ins at BSA sites")
struct BSASiteTests {
  private func qrID(_ app: BSAApp, _ page: String) async throws -> String {
    let html = try await app.send(.get, page).html
    return String(try #require(html.firstMatch(of: /id="qrId">([^<]+)</)).1)
  }

  @Test(
    "the first user who opens a BSA QR id completes the sign-in, and other users are refused")
  func qr() async throws {
    let app = try BSAApp()
    try await app.registered()
    let page = try await app.press("qr").location
    let id: JSON = .string(try await qrID(app, page))
    app.wait(179)
    #expect(try await app.exist().data == ["isExist": false])
    let channel = try await app.channel(["qrId": id], key: BSAApp.key)
    #expect(try await app.channel(["qrId": id]) == channel)
    #expect(try await app.state(page) == "underWay")
    #expect(try await !app.send(.get, page).html.contains("qrId"))
    _ = try await app.control(
      .post, "registrations",
      ["userKey": "bob", "deviceId": .string(BSAApp.otherDevice)])
    let bob: [String: JSON] = [
      "userKey": "bob", "deviceId": .string(BSAApp.otherDevice), "qrId": id,
    ]
    #expect(try await app.open(bob).rtCode == 5023)
    app.wait(29)
    #expect(try await app.complete(["qrId": "qr_other"]).rtCode == 5023)
    #expect(try await app.complete(["qrId": id]).rtCode == 0)
    #expect(try await app.result(channel, key: BSAApp.key).rtCode == 0)
    #expect(try await app.result(channel).rtCode == 0)
    #expect(try await app.send(.get, page).html.contains(#"id="user">alice-key<"#))
    #expect(try await app.open(["qrId": id]).rtCode == 5019)
  }

  @Test("an unknown or expired BSA QR id gets 5023, and an opened one times out after 30 seconds")
  func over() async throws {
    let app = try BSAApp()
    try await app.registered()
    #expect(try await app.open(["qrId": "qr_unknown"]).rtCode == 5023)
    let page = try await app.press("qr").location
    let id: JSON = .string(try await qrID(app, page))
    app.wait(180)
    #expect(try await app.open(["qrId": id]).rtCode == 5023)
    #expect(try await app.state(page) == "timedOut")
    let other: JSON = .string(try await qrID(app, try await app.press("qr").location))
    _ = try await app.channel(["qrId": other])
    app.wait(30)
    #expect(try await app.open(["qrId": other]).rtCode == 5000)
    #expect(try await app.complete(["qrId": other]).rtCode == 5000)
  }

  @Test("a BSA QR id of another app's site is refused with 5024 under every client key")
  func otherApp() async throws {
    let app = try BSAApp()
    try await app.registered()
    let page = try await app.press("qr", ["client": "other"]).location
    #expect(try await app.send(.get, page).html.contains(#"id="site">Other<"#))
    let id: JSON = .string(try await qrID(app, page))
    for key in [BSAApp.key, BSAApp.acme, BSAApp.other] {
      #expect(try await app.open(["qrId": id], key: key).rtCode == 5024)
    }
    let acme: JSON = .string(try await qrID(app, try await app.press("qr").location))
    #expect(try await app.open(["qrId": acme], key: BSAApp.other).rtCode == 5024)
    let shown = try await app.press("push", ["userKey": "alice-key", "client": "other"])
    #expect(shown.status == 403)
    #expect(shown.html.contains("(3201)"))
  }

  @Test("a BSA QR sign-in can be cancelled by its id, before and after it was opened")
  func cancelled() async throws {
    let app = try BSAApp()
    try await app.registered()
    #expect(try await app.cancel(["qrId": "qr_unknown"]).rtCode == 5023)
    let first = try await app.press("qr").location
    let id: JSON = .string(try await qrID(app, first))
    #expect(try await app.cancel().rtCode == 5019)
    #expect(try await app.cancel(["qrId": id]).rtCode == 0)
    #expect(try await app.state(first) == "cancelled")
    #expect(try await app.open(["qrId": id]).rtCode == 5011)
    let second: JSON = .string(try await qrID(app, try await app.press("qr").location))
    _ = try await app.channel(["qrId": second])
    #expect(try await app.cancel(["qrId": second]).rtCode == 0)
    #expect(try await app.complete(["qrId": second]).rtCode == 5011)
  }

  @Test("a BSA login code starts one sign-in, even after a wrong code, and then gets 3006")
  func otpOnce() async throws {
    let app = try BSAApp()
    try await app.registered()
    let number = try await app.loginNumber()
    let wrong = number == "000000" ? "000001" : "000000"
    let shown = try await app.press("otp", ["userKey": "alice-key", "number": wrong])
    #expect(shown.status == 403 && shown.html.contains("(3005)"))
    let page = try await app.begin("otp", number: " \(number.prefix(3)) \(number.suffix(3))")
    _ = try await app.channel()
    #expect(try await app.complete().rtCode == 0)
    #expect(try await app.state(page) == "completed")
    let again = try await app.press("otp", ["userKey": "alice-key", "number": number])
    #expect(again.html.contains("(3006)"))
  }

  @Test("a BSA login code ends by time-out, replacement, five wrong attempts, deletion or expiry")
  func otpOver() async throws {
    let app = try BSAApp()
    try await app.registered()
    func typed(_ number: String) async throws -> String {
      let answer = try await app.press("otp", ["userKey": "alice-key", "number": number])
      return String(try #require(answer.html.firstMatch(of: /\(([0-9]{4})\)/)).1)
    }
    let late = try await app.loginNumber()
    app.wait(180)
    #expect(try await typed(late) == "3006")
    let first = try await app.loginNumber()
    let second = try await app.loginNumber()
    if first != second { #expect(try await typed(first) == "3005") }
    #expect(try await app.wire(.delete, "/otp/\(second)").rtCode == 0)
    #expect(try await app.wire(.delete, "/otp/\(second)").rtCode == 3006)
    #expect(try await typed(second) == "3006")
    let third = try await app.loginNumber()
    for _ in 0..<5 { #expect(try await typed("1") == "3005") }
    #expect(try await typed(third) == "3006")
    _ = try await app.loginNumber()
    _ = try await app.control(.post, "expire", ["what": "loginNumbers"])
    #expect(try await typed("1") == "3006")
    let wrong: [String: JSON] = ["userKey": "alice-key", "deviceId": .string(BSAApp.otherDevice)]
    #expect(try await app.wire(.post, "/otp/generate", wrong).rtCode == 3007)
  }

  @Test("a BSA TOTP code is accepted in its 60-second step and the adjacent steps, and only once")
  func totp() async throws {
    let app = try BSAApp()
    let totp = TOTP(secret: try await app.registered(), period: 60)
    let step = totp.step(at: start)
    func type(_ step: Int) async throws -> Int {
      let answer = try await app.press(
        "totp", ["userKey": "alice-key", "number": totp.code(of: step)])
      if answer.status == 303 { _ = try await app.cancel() }
      return answer.status
    }
    #expect(try await type(step - 2) == 403)
    #expect(try await type(step + 2) == 403)
    #expect(try await type(step - 1) == 303)
    #expect(try await type(step - 1) == 403)
    #expect(try await type(step) == 303)
    #expect(try await type(step + 1) == 303)
    #expect(try await type(step) == 403)
    app.wait(60)
    #expect(try await type(step + 1) == 403)
    #expect(try await type(step + 2) == 303)
  }

  @Test("BSA refuses a correct TOTP code with 5026 after the daily number of attempts")
  func totpLimit() async throws {
    let app = try BSAApp()
    let totp = TOTP(secret: try await app.registered(), period: 60)
    try await app.set(["totpPerDay": 2])
    for _ in 0..<2 {
      let wrong = try await app.press("totp", ["userKey": "alice-key", "number": "1"])
      #expect(wrong.html.contains("(3005)"))
    }
    let right = totp.code(at: start)
    let refused = try await app.press("totp", ["userKey": "alice-key", "number": right])
    #expect(refused.html.contains("(5026)"))
    app.wait(86_400)
    try await app.begin("totp", number: totp.code(at: start.addingTimeInterval(86_400)))
  }

  @Test(
    "the BSA site page shows the rtCode of a mistake in the sign-in form",
    arguments: [
      (["action": "push"], 2002), (["action": "push", "userKey": "bob-key"], 2008),
      (["action": "otp", "userKey": "alice-key"], 2002),
      (["action": "totp", "userKey": "alice-key", "number": " "], 2002),
      (["action": "otp", "userKey": "alice-key", "number": "123456"], 3006),
    ] as [([String: String], Int)])
  func problems(_ form: [String: String], _ code: Int) async throws {
    let app = try BSAApp()
    try await app.registered()
    let answer = try await app.press(form["action"] ?? "", form)
    #expect(answer.status == 403)
    #expect(answer.html.contains(#"id="problem""#))
    #expect(answer.html.contains("(\(code))"))
  }

  @Test("the BSA site answers an unknown page, client or button with 400 and escapes user input")
  func pages() async throws {
    let app = try BSAApp()
    let page = try await app.send(.get, "/bsa/site")
    #expect(page.status == 200)
    #expect(page.html.contains("No users yet."))
    #expect(try await app.send(.get, "/bsa/site?client=other").html.contains("Other"))
    #expect(try await app.send(.get, "/bsa/site?client=app").status == 400)
    #expect(try await app.send(.get, "/bsa/site/sgn_unknown").status == 400)
    #expect(try await app.press("nothing").status == 400)
    #expect(try await app.press("push", ["client": "app", "userKey": "x"]).status == 400)
    let odd = try await app.press("push", ["userKey": "<script>"])
    #expect(odd.status == 403)
    #expect(!odd.html.contains("<script>"))
  }
}
