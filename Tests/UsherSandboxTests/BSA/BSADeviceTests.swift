import Foundation
import Testing

@testable import UsherSandbox

@Suite("Registration of another device at the BSA fake")
struct BSADeviceTests {
  private func sendOTP(
    _ app: BSAApp, _ changes: [String: JSON] = [:]
  ) async throws -> BSAApp.Answer {
    let members: [String: JSON] = [
      "userKey": "alice-key", "name": "Alice Adams", "verifyType": "CMMDUP002",
      "verifyData": .string(BSAApp.phone),
    ]
    return try await app.wire(.post, "/users/send-otp", members.applying(overrides: changes))
  }

  @Test("BSA send-otp sends a code if key, name and contact match, and returns the user's authType")
  func sendOTP() async throws {
    let app = try BSAApp()
    try await app.registered()
    let answer = try await sendOTP(app)
    #expect(answer.json == ["rtCode": 0, "rtMsg": "OK", "data": ["result": true, "authType": 3]])
    let code = try await app.number(to: BSAApp.phone)
    let verified = try await app.wire(
      .post, "/sms/verify", ["phoneNum": .string(BSAApp.phone), "authNum": .string(code)])
    #expect(verified.data?["result"] == true)
  }

  @Test(
    "BSA send-otp and device change refuse a key, name and contact that do not match with 2008",
    arguments: [
      ["userKey": "bob-key"], ["name": "Alice"], ["verifyData": "+447700900999"],
      ["verifyType": "CMMDUP001", "verifyData": "bob@example.com"],
    ] as [[String: JSON]])
  func strangers(_ changes: [String: JSON]) async throws {
    let app = try BSAApp()
    try await app.registered()
    await app.context.outbox.removeAll()
    #expect(try await sendOTP(app, changes).rtCode == 2008)
    #expect(await app.context.outbox.messages().isEmpty)
    var own = changes
    let key = own.removeValue(forKey: "userKey")?.text ?? "alice-key"
    let contact = own["verifyData"]?.text ?? BSAApp.email
    let isPhone = contact.hasPrefix("+")
    if isPhone {
      _ = try await app.wire(.post, "/sms", ["phoneNum": .string(contact)])
    } else {
      _ = try await app.mail(contact)
    }
    let verified = try await app.wire(
      .post, isPhone ? "/sms/verify" : "/mail/verify",
      [
        isPhone ? "phoneNum" : "email": .string(contact),
        "authNum": .string(try await app.number(to: contact)),
      ])
    own["otpType"] = isPhone ? "CMMDUP002" : "CMMDUP001"
    own["verifyType"] = own["otpType"]
    own["verifyData"] = .string(contact)
    let token = try #require(verified.data?["disposeToken"]?.text)
    #expect(try await app.changeDevice(key, token: token, own).rtCode == 2008)
    #expect(try await app.list("disposeTokens").last?["state"] == "unused")
  }

  @Test("a BSA device change validates its parameters as a sign-up does")
  func checks() async throws {
    let app = try BSAApp()
    try await app.registered()
    let token = try await app.disposeToken()
    let wrong: [(String, JSON, JSON)] = [
      ("name", .null, 2002), ("verifyType", .null, 2002), ("verifyData", .null, 2002),
      ("disposeToken", .null, 2002), ("otpType", .null, 2002), ("osVersion", .null, 2002),
      ("os", "Linux", 2002), ("authType", 1, 3000), ("deviceId", "x", 3007),
      ("otpType", "CMMDUP002", 3006), ("disposeToken", "dsp_x", 3006),
    ]
    for (name, value, code) in wrong {
      #expect(try await app.changeDevice(token: token, [name: value]).rtCode == code, "\(name)")
    }
    #expect(try await app.changeDevice(token: token).rtCode == 0)
    #expect(try await app.changeDevice(token: token).rtCode == 3006, "the disposeToken is used up")
  }

  @Test(
    "BSA refuses the calls of a suspended or withdrawn user with the rtCode of that state",
    arguments: [
      ("suspended", 5006), ("suspendedForGood", 5007), ("withdrawn", 5008),
    ] as [(String, JSON)])
  func standing(_ state: String, _ code: JSON) async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    let channel = try await app.channel()
    _ = try await app.control(.post, "registrations/alice-key", ["state": .string(state)])
    #expect(try await app.exist().rtCode == code)
    #expect(try await app.open().rtCode == code)
    #expect(try await app.complete().rtCode == code)
    #expect(try await app.result(channel).rtCode == 2010)
    #expect(try await sendOTP(app).rtCode == code)
    let device: [String: JSON] = ["deviceId": .string(BSAApp.device)]
    #expect(try await app.wire(.get, "/device/check", device).rtCode == code)
    let number = device.merging(["userKey": "alice-key"]) { $1 }
    #expect(try await app.wire(.post, "/otp/generate", number).rtCode == code)
    let shown = try await app.press("push", ["userKey": "alice-key"])
    #expect(shown.status == 403)
    #expect(shown.html.contains("(\(code.encodedText))"))
    #expect(try await app.wire(.get, "/idcheck", ["userKey": "alice-key"]).rtCode == 2009)
    _ = try await app.control(.post, "registrations/alice-key", ["state": "active"])
    #expect(try await app.complete().rtCode == 0)
  }
}

extension JSON {
  fileprivate var encodedText: String { String(decoding: encoded(), as: UTF8.self) }
}
