import JSONRPC
import Testing
import UsherTestKit

/// What goes wrong at the provider, as its control API says it.
struct BSAFault: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let json: JSONValue

  /// The provider is down for the moment, and has done nothing.
  static let passing = [
    BSAFault("no answer in time", ["delayMs": 3000]),
    BSAFault("a reset connection", ["reset": true]),
    BSAFault("status 500", ["status": 500]),
    BSAFault("status 503 and no envelope", ["status": 503, "body": ["error": "down"]]),
  ]

  /// It has done what it was asked for, and its answer is lost.
  static let lost = [
    BSAFault("half a body", ["halfBody": true]),
    BSAFault("a connection that is reset late", ["reset": true, "processed": true]),
  ]

  /// It answers what cannot be used.
  static let lasting = [
    BSAFault("broken JSON", ["brokenJSON": true]),
    BSAFault("a huge body", ["hugeBody": 2_000_000]),
    BSAFault("a redirect", ["status": 302]),
    BSAFault("status 404 and no envelope", ["status": 404]),
    BSAFault("an array", ["body": []]),
    BSAFault("an rtCode that is a text", ["body": ["rtCode": "0"]]),
    BSAFault("no rtCode", ["body": ["rtMsg": "fine", "data": [:]]]),
  ]

  init(_ name: String, _ json: JSONValue) {
    testDescription = name
    self.json = json
  }
}

extension BSAScene {
  /// One whose provider has a second for an answer.
  static func hasty(_ clock: MovableClock? = nil) throws -> BSAScene {
    try BSAScene(["request_timeout_seconds": "1"], clock: clock)
  }

  /// Whatever is asked goes wrong until it is mended.
  func spoilAll(_ fault: JSONValue) throws {
    try sandbox.control("POST", "faults", ["endpoint": "*", "fault": fault])
  }

  /// The provider is not to blame for ever: the flow says what is wrong, and goes on.
  func troubled(
    _ flow: JSONValue, at location: SourceLocation = #_sourceLocation
  ) throws -> JSONValue {
    let flow = try moved(flow, "has a problem") { $0.problem[0] != nil }
    #expect(
      flow.problem == ["provider_unreachable", nil], "\(flow.text)", sourceLocation: location)
    #expect(
      flow["problem"]?["message"]?.stringValue?.isEmpty == false, sourceLocation: location)
    return flow
  }

  func expectProtocolError(
    _ end: JSONValue, at location: SourceLocation = #_sourceLocation
  ) {
    #expect(
      end.failure == ["provider_protocol_error", nil, nil], "\(end.text)",
      sourceLocation: location)
    #expect(end["status"] == "failed", sourceLocation: location)
  }
}

/// The flow `verifyContact` with a provider that fails.
@Suite(
  "BSA: a provider that fails while a contact is verified", .mayBlock,
  .timeLimit(.minutes(10)))
struct FaultContactTests {
  private let scene: BSAScene

  init() throws { scene = try BSAScene.hasty() }

  private static let params: JSONValue = [
    "sendType": "email", "sendTarget": "alice@example.com",
  ]

  @Test(
    "a number whose sending has an unknown outcome is sent once, and the person is asked for it",
    arguments: BSAFault.passing + BSAFault.lost)
  func sending(_ fault: BSAFault) throws {
    try scene.spoil("mail", fault.json, times: 1)
    let flow = try scene.asked(scene.begin("verifyContact", Self.params), for: "enterCode")
    #expect(flow["problem"]?["reason"] == "may_have_been_sent", "\(flow.text)")
    #expect(try scene.requests("mail") == 1)
  }

  @Test("a number that came though the answer was lost is good", arguments: BSAFault.lost)
  func sentUnheard(_ fault: BSAFault) throws {
    try scene.spoil("mail", fault.json, times: 1)
    let flow = try scene.asked(scene.begin("verifyContact", Self.params), for: "enterCode")
    let end = try scene.enter(scene.number(to: "alice@example.com"), to: flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("mail") == 1)
  }

  @Test("who asks too often is asked to wait, and that is no loss")
  func tooMany() throws {
    try scene.spoil("mail", ["status": 429], times: 2)
    let flow = try scene.verifyContact()
    #expect(flow.state == "otpSent", "\(flow.text)")
    #expect(try scene.requests("mail") == 3)
  }

  @Test("an answer that is none ends it", arguments: BSAFault.lasting)
  func unreadable(_ fault: BSAFault) throws {
    try scene.spoil("mail", fault.json, times: 1)
    scene.expectProtocolError(try scene.verifyContact())
    let flow = try scene.verifyContact()
    try scene.spoil("mailVerify", fault.json, times: 1)
    scene.expectProtocolError(try scene.enter(scene.number(to: "alice@example.com"), to: flow))
    #expect(try scene.requests("mail") == 2 && scene.requests("mailVerify") == 1)
  }

  @Test(
    "down while the number is looked at: a problem, and it is typed once more",
    arguments: BSAFault.passing)
  func verifying(_ fault: BSAFault) throws {
    let flow = try scene.verifyContact()
    let number = try scene.number(to: "alice@example.com")
    try scene.spoil("mailVerify", fault.json, times: 1)
    let again = try scene.troubled(scene.enter(number, to: flow))
    #expect(again.state == "otpSent" && again["step"] == flow["step"], "\(again.text)")
    #expect(try scene.enter(number, to: again)["status"] == "succeeded")
  }

  @Test(
    "one that was taken, and nobody heard of it, is over: another number is sent",
    arguments: BSAFault.lost)
  func verifiedUnheard(_ fault: BSAFault) throws {
    let flow = try scene.verifyContact()
    let number = try scene.number(to: "alice@example.com")
    try scene.spoil("mailVerify", fault.json, times: 1)
    var again = try scene.troubled(scene.enter(number, to: flow))
    again = try scene.enter(number, to: again)
    #expect(again.problem == ["code_expired", "3006"], "\(again.text)")
    try waitUntil((again["step"] ?? .null).time("resendAt"))
    let next = try scene.resend(again)
    let end = try scene.enter(scene.number(to: "alice@example.com"), to: next)
    #expect(end["status"] == "succeeded", "\(end.text)")
  }

  @Test("a flow is cancelled at once while its provider says nothing")
  func cancelled() throws {
    try scene.spoilAll(["delayMs": 60_000])
    let flow = try scene.begin("verifyContact", Self.params)
    let end = try scene.app.call("flow.cancel", ["flow": flow["id"] ?? .null], within: 20)["flow"]
    #expect(end?["status"] == "cancelled")
  }

  @Test("a provider that is not there: a problem, then the end; health says so, no secret does")
  func gone() throws {
    scene.sandbox.killAtOnce()
    let troubled = try scene.troubled(scene.begin("verifyContact", Self.params))
    #expect(!troubled.text.contains(BSAScene.clientKey))
    let status = try scene.app.call("system.status", [:])
    #expect(status["providers"]?[0]?["health"] == "failing", "\(status.text)")
    #expect(try scene.cancel(troubled)["status"] == "cancelled")
  }
}

/// The flows `register` and `reregisterDevice`.
@Suite(
  "BSA: a provider that fails while somebody registers", .mayBlock,
  .timeLimit(.minutes(10)))
struct FaultRegistrationTests {
  private let scene: BSAScene

  init() throws { scene = try BSAScene.hasty() }

  @Test(
    "a sign-up that may have been done is never repeated: the end, which says what to do",
    arguments: BSAFault.passing + BSAFault.lost)
  func signUp(_ fault: BSAFault) throws {
    let flow = try scene.registering()
    try scene.spoil("users", fault.json, times: 1)
    let end = try scene.prove(flow)
    #expect(end.failure == ["provider_unreachable", nil, nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(end["failure"]?["message"]?.stringValue?.contains("reregisterDevice") == true)
    #expect(try scene.requests("users") == 1 && scene.accounts() == [])
  }

  @Test("one that was not looked at is sent again")
  func tooMany() throws {
    let flow = try scene.registering()
    try scene.spoil("users", ["status": 429], times: 2)
    let troubled = try scene.troubled(scene.prove(flow, waitMs: 0))
    #expect(troubled.state == "signingUp")
    let end = try scene.app.finished(troubled)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("users") == 3)
    #expect(try scene.code().code == scene.numberOfSecret())
  }

  @Test("an answer that is none ends it, and leaves no account", arguments: BSAFault.lasting)
  func unreadable(_ fault: BSAFault) throws {
    let flow = try scene.registering()
    try scene.spoil("users", fault.json, times: 1)
    scene.expectProtocolError(try scene.prove(flow))
    #expect(try scene.accounts() == [])
  }

  private static let device: JSONValue = [
    "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email",
    "verifyData": "alice@example.com",
  ]

  @Test(
    "another device is asked for again; the number for it is sent once", arguments: BSAFault.passing
  )
  func device(_ fault: BSAFault) throws {
    try scene.registered()
    try scene.spoil("sendOtp", fault.json, times: 1)
    let unknown = try scene.app.finished(scene.begin("reregisterDevice", Self.device))
    #expect(unknown.failure == ["provider_unreachable", nil, nil], "\(unknown.text)")
    #expect(unknown["failure"]?["retryable"] == false)
    #expect(try scene.requests("sendOtp") == 1)
    let flow = try scene.asked(scene.begin("reregisterDevice", Self.device), for: "enterCode")
    try scene.spoil("device", fault.json, times: 1)
    // The person was authenticated a moment ago.
    let troubled = try scene.troubled(
      scene.enter(scene.number(to: "alice@example.com"), to: flow, waitMs: 0))
    #expect(troubled.state == "signingUp", "\(troubled.text)")
    let end = try scene.app.finished(troubled)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("sendOtp") == 2 && scene.requests("device") == 2)
  }

  @Test(
    "a device that was taken and nobody heard of it: its token was used, another flow gets it",
    arguments: BSAFault.lost)
  func deviceUnheard(_ fault: BSAFault) throws {
    try scene.registered()
    let flow = try scene.start("reregisterDevice", Self.device)
    try scene.spoil("device", fault.json, times: 1)
    let end = try scene.enter(scene.number(to: "alice@example.com"), to: flow)
    #expect(end.failure == ["provider_rejected", "3006", nil], "\(end.text)")
    #expect(try scene.requests("device") == 2)
    _ = try scene.reregistered()
    #expect(try scene.code().code == scene.numberOfSecret())
  }

  @Test("an answer that is none ends that too", arguments: BSAFault.lasting)
  func deviceUnreadable(_ fault: BSAFault) throws {
    try scene.registered()
    try scene.spoil("sendOtp", fault.json, times: 1)
    scene.expectProtocolError(try scene.start("reregisterDevice", Self.device))
    let flow = try scene.start("reregisterDevice", Self.device)
    try scene.spoil("device", fault.json, times: 1)
    scene.expectProtocolError(try scene.enter(scene.number(to: "alice@example.com"), to: flow))
    #expect(try scene.code().code == scene.numberOfSecret(), "the old secret is the account's")
  }

  @Test(
    "data without what it must have is no answer",
    arguments: [
      ("mail", "mailVerify", ["result": .null]),
      ("mail", "mailVerify", ["disposeToken": .null]),
      ("mail", "mailVerify", ["result": "yes"]), ("mail", "mailVerify", .null),
      ("sendOtp", "sendOtp", ["result": .null]), ("sendOtp", "sendOtp", .null),
    ] as [(String, String, JSONValue)])
  func lacking(_ kind: String, _ endpoint: String, _ data: JSONValue) throws {
    if kind == "sendOtp" { try scene.registered() }
    try scene.answers(endpoint, ["data": data])
    var flow =
      kind == "mail"
      ? try scene.verifyContact() : try scene.start("reregisterDevice", Self.device)
    if flow.stepType == "enterCode" {
      flow = try scene.enter(scene.number(to: "alice@example.com"), to: flow)
    }
    scene.expectProtocolError(flow)
  }

  @Test(
    "another device without a usable secret is the account's, and has no codes",
    arguments: [["secretKey": .null], ["secretKey": "A1"], .null] as [JSONValue])
  func lackingSecret(_ data: JSONValue) throws {
    let account = try scene.registered().account
    try scene.answers("device", ["data": data])
    let flow = try scene.start("reregisterDevice", Self.device)
    let end = try scene.enter(scene.number(to: "alice@example.com"), to: flow)
    #expect(end["status"] == "succeeded" && end.account == account, "\(end.text)")
    let problem = end["result"]?["totpProblem"]?.stringValue
    #expect(problem?.contains("data.secretKey") == true, "\(end.text)")
    // The provider has dropped the secret of the device before: its codes are good for nothing.
    #expect(try scene.app.call("totp.list")["accounts"] == [])
  }
}
