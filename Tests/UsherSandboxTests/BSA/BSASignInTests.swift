import Foundation
import Testing

@testable import UsherSandbox

@Suite("Sign-ins at the BSA fake")
struct BSASignInTests {
  @Test("BSA answers 5019 if no sign-in waits and 2004 for an unknown channel key")
  func nothing() async throws {
    let app = try BSAApp()
    try await app.registered()
    #expect(try await app.open().rtCode == 5019)
    #expect(try await app.complete().rtCode == 5019)
    #expect(try await app.cancel().rtCode == 5019)
    #expect(try await app.result("chn_unknown").rtCode == 2004)
    try await app.begin()
    #expect(try await app.complete().rtCode == 5019)
  }

  @Test("BSA accepts the user key in place of the device id only when a sign-in is opened")
  func slip() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    let channel = try await app.channel(["deviceId": "alice-key"])
    #expect(try await app.complete(["deviceId": "alice-key"]).rtCode == 3007)
    #expect(try await app.complete(["deviceId": .string(BSAApp.otherDevice)]).rtCode == 3007)
    #expect(try await app.complete().rtCode == 0)
    #expect(try await app.result(channel).rtCode == 0)
    #expect(try await app.exist("alice-key", on: "alice-key").rtCode == 3007)
    #expect(try await app.open(["deviceId": "bob-key"]).rtCode == 3007)
    #expect(try await app.open(["userKey": "bob-key"]).rtCode == 2008)
  }

  @Test("a BSA sign-in is opened, and its result read, only with the client key of its site")
  func siteKey() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    #expect(try await app.open(key: BSAApp.key).rtCode == 5019)
    #expect(try await app.open(key: BSAApp.other).rtCode == 5019)
    #expect(try await app.open(key: "wrong").rtCode == 2000)
    let channel = try await app.channel()
    _ = try await app.complete()
    #expect(try await app.result(channel, key: BSAApp.key).rtCode == 2004)
    #expect(try await app.result(channel, key: "wrong").rtCode == 2000)
    #expect(try await app.result(channel).rtCode == 0)
  }

  @Test("reopening a BSA sign-in returns the same channel key, or 2010 if channelOnce is set")
  func again() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    let channel = try await app.channel()
    #expect(try await app.channel() == channel)
    try await app.set(["channelOnce": true])
    #expect(try await app.open().rtCode == 2010)
    _ = try await app.complete()
    #expect(try await app.complete().rtCode == 0)
    #expect(try await app.open().rtCode == 5019)
    #expect(try await app.cancel().rtCode == 5019)
  }

  @Test(
    "a BSA sign-in times out after 30 s with the configured code and is forgotten 300 s later",
    arguments: [
      (5000, 29.0), (5001, 0),
    ] as [(JSON, Double)])
  func timeOver(_ code: JSON, _ before: Double) async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.set(["timeoutCode": code])
    let page = try await app.begin()
    app.wait(before)
    let channel = try await app.channel()
    app.wait(29 - before)
    #expect(try await app.result(channel).rtCode == 2010)
    app.wait(1)
    #expect(try await app.state(page) == "timedOut")
    #expect(try await app.open().rtCode == code)
    #expect(try await app.complete().rtCode == code)
    #expect(try await app.result(channel).rtCode == code)
    #expect(try await app.cancel().rtCode == code)
    app.wait(300)
    #expect(try await app.open().rtCode == 5019)
    #expect(try await app.result(channel).rtCode == 2004)
    try await app.begin()
    app.wait(30)
    #expect(try await app.exist().data == ["isExist": false])
    #expect(try await app.open().rtCode == code)
  }

  @Test(
    "BSA refuses a completion without local authentication with 5005 if the user registered one")
  func localAuth() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    _ = try await app.channel()
    #expect(try await app.complete(localAuth: false).rtCode == 5005)
    #expect(try await app.complete(["isSecondaryCertification": .null]).rtCode == 2002)
    #expect(try await app.complete(["isSecondaryCertification": "true"]).rtCode == 2002)
    #expect(try await app.complete().rtCode == 0)
    let none: JSON = [
      "userKey": "bob", "deviceId": .string(BSAApp.otherDevice), "authType": 0,
    ]
    _ = try await app.control(.post, "registrations", none)
    _ = try await app.control(.post, "signIns", ["userKey": "bob"])
    let device: [String: JSON] = ["deviceId": .string(BSAApp.otherDevice)]
    _ = try await app.channel(device.merging(["userKey": "bob"]) { $1 })
    #expect(try await app.complete(localAuth: false, device).rtCode == 0)
    #expect(try await app.list("signIns").last?["localAuth"] == false)
  }

  @Test(
    "a second BSA sign-in of the same user is refused with 2010 until the first one is complete")
  func busy() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    let number = try await app.loginNumber()
    for button in ["push", "otp"] {
      let shown = try await app.press(button, ["userKey": "alice-key", "number": number])
      #expect(shown.status == 403)
      #expect(shown.html.contains("(2010)"))
    }
    _ = try await app.channel()
    #expect(try await app.press("push", ["userKey": "alice-key"]).status == 403)
    _ = try await app.complete()
    try await app.begin("otp", number: number)
  }

  @Test("a BSA access token is refused with 2003 after its lifetime of one hour")
  func tokens() async throws {
    let app = try BSAApp()
    try await app.registered()
    try await app.begin()
    let channel = try await app.channel()
    _ = try await app.complete()
    let token = try #require(try await app.result(channel).data?.text)
    func me() async throws -> JSON? {
      try await app.send(.get, "/bsa/me", headers: ["authorization": token]).rtCode
    }
    app.wait(3599)
    #expect(try await me() == 0)
    app.wait(1)
    #expect(try await me() == 2003)
  }
}
