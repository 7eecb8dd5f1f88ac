import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The table of the SDK's calls beside our flow (the page Truecaller of the documentation), row by
/// row and clause by clause: each test's title is one clause.
@Suite("Truecaller, row by row", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerFlowsTableTests {
  private static let complete = "verificationComplete"

  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  @Test("requestVerification: POST create; otpInitiated, enterCode with TTL and names asked for")
  func requestVerification() throws {
    let before = Date()
    let flow = try scene.verify()
    #expect(flow["state"] == "otpInitiated", "\(flow.text)")
    #expect(try scene.requests("create") == 1)
    #expect(try scene.messages().map { $0["to"] } == ["+919876543210"])
    var step = try #require(flow["step"])
    let end = try step.time("expiresAt")
    #expect((59...63).contains(end.timeIntervalSince(before)))
    #expect(step["resendAt"] == step["expiresAt"])
    step["resendAt"] = nil
    step["expiresAt"] = nil
    #expect(
      step == [
        "type": "enterCode", "purpose": "otp", "channel": "sms", "maskedTarget": "+91 ••• 210",
        "digits": 6,
        "alsoAsk": [
          ["name": "firstName", "type": "text", "required": true, "maxLength": 127],
          ["name": "lastName", "type": "text", "required": false, "maxLength": 127],
        ],
      ])
  }

  @Test("verificationStatusChanged: the SDK's words in its order, each one revision")
  func states() throws {
    let listener = try Listener(scene.daemon)
    try scene.verified()
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", Self.complete, "\(Self.complete) succeeded",
      ])
  }

  @Test("otpReceived when the code is handed in, and back to otpInitiated on a wrong one")
  func wrongCode() throws {
    let listener = try Listener(scene.daemon)
    let flow = try scene.verify()
    let wrong = try scene.enter(scene.wrongCode(), to: flow)
    #expect(wrong["state"] == "otpInitiated")
    #expect(wrong["step"] == flow["step"])
    #expect(wrong.problem == ["wrong_code", "10"])
    #expect(wrong["problem"]?["provider"]?["error"] == "4220")
    let end = try scene.enter(scene.code(), to: wrong)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpReceived", "otpInitiated", "otpReceived", Self.complete,
        "\(Self.complete) succeeded",
      ])
  }

  @Test("verificationComplete (active) is one revision, the profile (succeeded) the next")
  func stateBeforeProfile() throws {
    try scene.spoil("profile", ["delayMs": 700], times: 1)
    let flow = try scene.verify()
    let sent = try scene.enter(scene.code(), to: flow, waitMs: 0)
    let complete = try scene.moved(sent, "is complete") { $0["state"] == "verificationComplete" }
    #expect(complete["status"] == "active", "\(complete.text)")
    #expect(complete.stepType == "wait")
    #expect(complete["result"] == nil || complete["result"] == .null)
    let end = try scene.app.finished(complete)
    #expect(end["status"] == "succeeded")
    #expect(end["state"] == "verificationComplete")
    #expect(
      end["revision"]?.integerValue == complete["revision"]?.integerValue.map { $0 + 1 })
    #expect(end["result"]?["profile"]?["firstName"] == "Asha")
  }

  @Test("verifySecurityCode: the names are written, the last one may be empty")
  func names() throws {
    let flow = try scene.verify()
    let end = try scene.enter(scene.code(), "Asha", "", to: flow)
    #expect(end["result"]?["profile"]?["firstName"] == "Asha", "\(end.text)")
    #expect(try scene.profile()["firstName"] == "Asha")
    #expect(try scene.profile()["lastName"] == "")
    #expect(try scene.requests("update") == 1)
  }

  @Test("a bad name: TCError 18, no network call, the step unchanged")
  func badName() throws {
    let flow = try scene.verify()
    let bad = try scene.enter(scene.code(), "12345", to: flow)
    #expect(bad.problem == ["invalid_name", "18"])
    #expect(bad["state"] == "otpInitiated")
    #expect(bad["step"] == flow["step"])
    #expect(try scene.requests("verify") == 0)
    #expect(try scene.enter(scene.code(), to: bad)["status"] == "succeeded")
  }

  @Test("tokenTtl: resend before it is over is rate_limited without a call, after it a new code")
  func resend() throws {
    try scene.set(["tokenTtl": 2])
    let listener = try Listener(scene.daemon)
    let flow = try scene.verify()
    let early = try scene.resend(flow)
    #expect(early.problem == ["rate_limited", "10"])
    #expect(early["state"] == "otpInitiated")
    #expect(early["step"] == flow["step"])
    let wait = try #require(early["problem"]?["retryAfterMs"]?.integerValue)
    #expect((1...2000).contains(wait))
    #expect(try scene.requests("create") == 1)
    try passed(flow.codeEnd())
    try scene.set(["tokenTtl": 30])
    let again = try scene.resend(early)
    #expect(again["state"] == "otpInitiated", "\(again.text)")
    #expect(again["problem"] == .null)
    let left = try again.codeEnd().timeIntervalSinceNow
    #expect((25...30).contains(left))
    #expect(try scene.requests("create") == 2)
    #expect(try scene.messages().count == 2)
    #expect(try scene.enter(scene.code(), to: again)["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpInitiated", "creating", "otpInitiated", "otpReceived",
        Self.complete, "\(Self.complete) succeeded",
      ])
  }

  @Test("another number is a new flow, which is not in the first one's way")
  func anotherNumber() throws {
    let one = try scene.verify()
    let oneCode = try scene.code()
    let two = try scene.verify("9876543211")
    let twoCode = try scene.code()
    #expect(one["id"] != two["id"])
    for (flow, code, number) in [(two, twoCode, "919876543211"), (one, oneCode, "919876543210")] {
      let end = try scene.enter(code, to: flow)
      #expect(end["result"]?["profile"]?["phoneNumber"] == .string(number), "\(end.text)")
    }
  }

  @Test("didReceive(profile): every member of TCTrueProfile, null where nothing is known")
  func profile() throws {
    let told: JSONValue = [
      "gender": "F", "street": "MG Road 1", "city": "Pune", "zipcode": "411001",
      "facebookID": "fb1", "twitterID": "tw1", "email": "asha@example.com",
      "url": "https://asha.example", "avatarUrl": "https://asha.example/a.png",
      "jobTitle": "Baker", "companyName": "Bakery", "isTrueName": true, "isAmbassador": true,
    ]
    try scene.sandbox.control(
      "POST", "truecaller/profile", TruecallerScene.params() + ["profile": told])
    var whole = try #require(try scene.verified()["result"]?["profile"])
    #expect((whole["requestTime"]?.numberValue ?? 0) > 1_600_000_000)
    whole["requestTime"] = nil
    var expected =
      told + [
        "firstName": "Asha", "lastName": "Rao", "phoneNumber": "919876543210",
        "countryCode": "IN", "gender": "female", "isVerified": true,
      ]
    expected["isTrueName"] = nil
    #expect(whole == expected, "\(whole.text)")
  }

  @Test("… and of a person of whom nothing is known", arguments: ["missing", "null"])
  func emptyProfile(written: String) throws {
    try scene.set(["emptyMembers": .string(written)])
    let profile = try #require(try scene.verified("9812345678")["result"]?["profile"])
    #expect(profile.objectValue?.count == 18)
    for name in ["street", "city", "email", "avatarUrl", "jobTitle", "url", "twitterID"] {
      #expect(profile[name] == .null, "\(name)")
    }
    #expect(profile["gender"] == "notSpecified")
    #expect(profile["isVerified"] == false)
    #expect(profile["isAmbassador"] == false)
  }

  @Test("accessTokenForOTPVerification: result.account; token.get, with expiresAt null")
  func accessToken() throws {
    let end = try scene.verified()
    let token = try scene.app.call(
      "token.get", ["account": end["result"]?["account"] ?? .null])
    #expect(token["expiresAt"] == .null, "\(token.objectValue?.keys.sorted() ?? [])")
    #expect(token["tokenType"] == "Bearer")
    let bearer = try #require(token["accessToken"]?.stringValue)
    let reply = try Web.send(
      "GET", "\(scene.sandbox.base)/truecaller/noneu/v1/profile",
      headers: [
        "Authorization": "Bearer \(bearer)", "appKey": TruecallerScene.appKey,
        "appLink": TruecallerScene.appLink, "sdkVersion": "0.2.3", "sdkVariant": "native",
      ])
    #expect(reply.status == 200, "\(reply.text)")
  }

  @Test("verifiedBefore: no SMS, no code, no name asked for; the profile follows the state")
  func verifiedBefore() throws {
    try scene.verified()
    let listener = try Listener(scene.daemon)
    let end = try scene.verify()
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["state"] == "verifiedBefore")
    #expect(end["result"]?["profile"]?["firstName"] == "Asha")
    #expect(
      try listener.states() == ["creating", "verifiedBefore", "verifiedBefore succeeded"])
    #expect(try scene.messages().count == 1)
    #expect(try scene.requests("verify") == 1)
    #expect(try scene.requests("update") == 1)
    #expect(try scene.account(of: end)["attributes"]?["verifiedBefore"] == true)
  }

  @Test("didFailToReceiveTrueProfileWithError: TCError as code, the server's own as error")
  func failure() throws {
    try scene.set(["uncallable": ["+919876543210"]])
    let end = try scene.verify()
    #expect(end["status"] == "failed")
    #expect(end.failure == ["invalid_request", "14", "4001"])
    #expect(end["failure"]?["provider"]?["name"] == "truecaller")
    #expect(end["failure"]?["provider"]?["message"] == "the phone number cannot be called")
  }

  @Test("cancel: TCError 3, and the code is no longer good for anything")
  func cancel() throws {
    let flow = try scene.verify()
    let end = try scene.app.flow(
      in: scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null]))
    #expect(end["status"] == "cancelled")
    #expect(end.failure == ["cancelled", "3", nil])
    #expect(
      try scene.refusal(TruecallerScene.entry(scene.code()), to: end).0 == "flow_finished")
    #expect(try scene.requests("verify") == 0)
  }

  @Test("the account: subject E.164, the person's name as label, the country as attribute")
  func account() throws {
    let account = try scene.account(of: scene.verified())
    #expect(account["subject"] == "+919876543210", "\(account.text)")
    #expect(account["label"] == "Asha Rao")
    #expect(account["attributes"] == ["countryCode": "IN", "verifiedBefore": false])
    #expect(account["profile"]?["phoneNumber"] == "919876543210")
  }
}
