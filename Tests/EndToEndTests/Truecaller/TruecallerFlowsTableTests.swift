import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The SDK's calls and the daemon's flow, as the documentation's page Truecaller lists them.
@Suite("Documented flow of Truecaller", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerFlowsTableTests {
  private static let complete = "verificationComplete"

  private let clock = MovableClock()
  private let fixture: TruecallerFixture

  init() throws { fixture = try TruecallerFixture(clock: clock) }

  @Test(
    "Truecaller verifyPhone has an SMS sent and shows an enterCode step with TTL and name fields")
  func requestVerification() throws {
    let before = clock.date
    let flow = try fixture.verify()
    #expect(flow["state"] == "otpInitiated", "\(flow.text)")
    #expect(try fixture.requests("create") == 1)
    #expect(try fixture.messages().map { $0["to"] } == ["+919876543210"])
    var step = try #require(flow["step"])
    let end = try step.time("expiresAt")
    #expect((before + 59...clock.date + 61).contains(end))
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

  @Test("verifyPhone is otpReceived only after a right code, and otpInitiated after a wrong one")
  func wrongCode() throws {
    let listener = try Listener(fixture.daemon)
    let flow = try fixture.verify()
    let wrong = try fixture.enter(fixture.wrongCode(), to: flow)
    #expect(wrong["state"] == "otpInitiated")
    #expect(wrong["step"] == flow["step"])
    #expect(wrong.problem == ["wrong_code", "10"])
    #expect(wrong["problem"]?["provider"]?["error"] == "4220")
    let end = try fixture.enter(fixture.code(), to: wrong)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "verifying", "otpInitiated", "verifying", "otpReceived",
        Self.complete, "\(Self.complete) succeeded",
      ])
  }

  @Test("Truecaller verifyPhone writes the names to the profile, and the last name may be empty")
  func names() throws {
    let flow = try fixture.verify()
    let end = try fixture.enter(fixture.code(), "Asha", "", to: flow)
    #expect(end["result"]?["profile"]?["firstName"] == "Asha", "\(end.text)")
    #expect(try fixture.profile()["firstName"] == "Asha")
    #expect(try fixture.profile()["lastName"] == "")
    #expect(try fixture.requests("update") == 1)
  }

  @Test("an invalid name is Truecaller TCError 18, sends no request and leaves the step unchanged")
  func badName() throws {
    let flow = try fixture.verify()
    let bad = try fixture.enter(fixture.code(), "12345", to: flow)
    #expect(bad.problem == ["invalid_name", "18"])
    #expect(bad["state"] == "otpInitiated")
    #expect(bad["step"] == flow["step"])
    #expect(try fixture.requests("verify") == 0)
    #expect(try fixture.enter(fixture.code(), to: bad)["status"] == "succeeded")
  }

  @Test("Truecaller's resend is rate_limited, without a request, until the TTL ends; then it works")
  func resend() throws {
    try fixture.set(["tokenTtl": 300])
    let listener = try Listener(fixture.daemon)
    let flow = try fixture.verify()
    let early = try fixture.resend(flow)
    #expect(early.problem == ["rate_limited", "10"])
    #expect(early["state"] == "otpInitiated")
    #expect(early["step"] == flow["step"])
    let wait = try #require(early["problem"]?["retryAfterMs"]?.integerValue)
    #expect((1...300_000).contains(wait))
    #expect(try fixture.requests("create") == 1)
    try clock.advance(by: 301)
    try fixture.set(["tokenTtl": 200])
    let asked = clock.date
    let again = try fixture.resend(early)
    #expect(again["state"] == "otpInitiated", "\(again.text)")
    #expect(again["problem"] == .null)
    let end = try again.codeEnd()
    #expect((asked + 199...clock.date + 201).contains(end))
    #expect(try fixture.requests("create") == 2)
    #expect(try fixture.messages().count == 2)
    #expect(try fixture.enter(fixture.code(), to: again)["status"] == "succeeded")
    #expect(
      try listener.states() == [
        "creating", "otpInitiated", "otpInitiated", "creating", "otpInitiated", "verifying",
        "otpReceived", Self.complete, "\(Self.complete) succeeded",
      ])
  }

  @Test("Truecaller verifications of two numbers are separate flows, and both succeed")
  func anotherNumber() throws {
    let one = try fixture.verify()
    let oneCode = try fixture.code()
    let two = try fixture.verify("9876543211")
    let twoCode = try fixture.code()
    #expect(one["id"] != two["id"])
    for (flow, code, number) in [(two, twoCode, "919876543211"), (one, oneCode, "919876543210")] {
      let end = try fixture.enter(code, to: flow)
      #expect(end["result"]?["profile"]?["phoneNumber"] == .string(number), "\(end.text)")
    }
  }

  @Test("verifyPhone returns Truecaller's profile in the form of TCTrueProfile")
  func profile() throws {
    let told: JSONValue = [
      "gender": "F", "street": "MG Road 1", "city": "Pune", "zipcode": "411001",
      "facebookID": "fb1", "twitterID": "tw1", "email": "asha@example.com",
      "url": "https://asha.example", "avatarUrl": "https://asha.example/a.png",
      "jobTitle": "Baker", "companyName": "Bakery", "isTrueName": true, "isAmbassador": true,
    ]
    try fixture.sandbox.control(
      "POST", "truecaller/profile", TruecallerFixture.params() + ["profile": told])
    var whole = try #require(try fixture.verified()["result"]?["profile"])
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

  @Test("token.get returns verifyPhone's access token without an expiry; Truecaller accepts it")
  func accessToken() throws {
    let end = try fixture.verified()
    let token = try fixture.app.call(
      "token.get", ["account": end["result"]?["account"] ?? .null])
    #expect(token["expiresAt"] == .null, "\(token.objectValue?.keys.sorted() ?? [])")
    #expect(token["tokenType"] == "Bearer")
    let bearer = try #require(token["accessToken"]?.stringValue)
    let reply = try Web.send(
      "GET", "\(fixture.sandbox.base)/truecaller/noneu/v1/profile",
      headers: [
        "Authorization": "Bearer \(bearer)", "appKey": TruecallerFixture.appKey,
        "appLink": TruecallerFixture.appLink, "sdkVersion": "0.2.3", "sdkVariant": "native",
      ])
    #expect(reply.status == 200, "\(reply.text)")
  }

  @Test("a number that Truecaller verified before needs no SMS, code or name for its profile")
  func verifiedBefore() throws {
    try fixture.verified()
    let listener = try Listener(fixture.daemon)
    let end = try fixture.verify()
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["state"] == "verifiedBefore")
    #expect(end["result"]?["profile"]?["firstName"] == "Asha")
    #expect(
      try listener.states() == ["creating", "verifiedBefore", "verifiedBefore succeeded"])
    #expect(try fixture.messages().count == 1)
    #expect(try fixture.requests("verify") == 1)
    #expect(try fixture.requests("update") == 1)
    #expect(try fixture.account(of: end)["attributes"]?["verifiedBefore"] == true)
  }

  @Test(
    "Truecaller verifyPhone's account has the E.164 number as subject and the name as label")
  func account() throws {
    let account = try fixture.account(of: fixture.verified())
    #expect(account["subject"] == "+919876543210", "\(account.text)")
    #expect(account["label"] == "Asha Rao")
    #expect(account["attributes"] == ["countryCode": "IN", "verifiedBefore": false])
    #expect(account["profile"]?["phoneNumber"] == "919876543210")
  }
}
