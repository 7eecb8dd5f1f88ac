import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Strong Customer Authentication in all its forms, through socket, daemon and backend.
@Suite("The forms of SCA", .mayBlock)
struct SCAFormTests {
  private let scene: PaysafeScene

  init() throws { scene = try PaysafeScene(signedIn: "alice") }

  private func succeeded(_ flow: JSONValue, _ event: (id: String, operation: String)) {
    #expect(flow["status"] == "succeeded", "\(flow.text)")
    #expect(flow["result"]?["eventId"] == .string(event.id))
    #expect(flow["result"]?["walletOperationId"] == .string(event.operation))
    #expect(flow["result"]?["status"] == "VERIFIED")
  }

  @Test("a code by SMS or e-mail is entered", arguments: [("SMS", "sms"), ("EMAIL", "email")])
  func code(channel: String, outbox: String) throws {
    let event = try scene.event()
    let flow = try scene.sca(
      event, ["verification": ["method": "OTP", "channel": .string(channel)]])
    #expect(flow["state"] == "challenged")
    #expect(flow["key"] == .string(event.id))
    #expect(flow["step"]?["purpose"] == "sca")
    #expect(flow["step"]?["channel"] == .string(outbox))
    #expect(flow["step"]?["digits"] == 6)
    #expect(flow["step"]?["attemptsLeft"] == 3)
    let target = try #require(flow["step"]?["maskedTarget"]?.stringValue)
    let address = try #require(try scene.message(outbox)["to"]?.stringValue)
    #expect(!target.isEmpty && target != address)
    succeeded(try scene.enter(scene.code(outbox), to: flow), event)
  }

  @Test("the authenticator's code is entered, and nothing is sent")
  func authenticator() throws {
    let event = try scene.event()
    let flow = try scene.sca(
      event, ["verification": ["method": "OTP", "channel": "AUTHENTICATOR"]])
    #expect(flow["step"]?["channel"] == "authenticator")
    #expect(try scene.messages("sms") + scene.messages("email") == 0)
    succeeded(try scene.enter(scene.authenticatorCode(), to: flow), event)
  }

  @Test(
    "PIN and password are entered as passwords",
    arguments: [("PIN", "pin", "2468"), ("PASSWORD", "password", "alice-password")])
  func password(method: String, purpose: String, secret: String) throws {
    let event = try scene.event()
    let flow = try scene.sca(event, ["verification": ["method": .string(method)]])
    #expect(flow.stepType == "enterPassword")
    #expect(flow["step"]?["purpose"] == .string(purpose))
    let wrong = try scene.submit(["type": "enterPassword", "password": "no"], to: flow)
    #expect(wrong.problem == "wrong_code")
    let end = try scene.submit(
      ["type": "enterPassword", "password": .string(secret)], to: wrong)
    succeeded(end, event)
  }

  @Test("trap 4: PUSH_NOTIFICATION as a method and as a channel; the backend's word settles it")
  func push() throws {
    for verification: JSONValue in [
      ["method": "PUSH_NOTIFICATION"],
      ["method": "PUSH_NOTIFICATION", "channel": "PUSH_NOTIFICATION"],
    ] {
      let event = try scene.event(["availableVerifications": ["PUSH_NOTIFICATION"]])
      let started = try scene.start("sca", event, ["verification": verification])
      let flow = try scene.moved(started, "waits for the person") { $0["state"] == "challenged" }
      #expect(flow.stepType == "wait")
      #expect(flow["step"]?["pollAfterMs"] == 1000)
      try scene.decide(event.id, approve: true)
      succeeded(try scene.app.finished(flow), event)
    }
  }

  @Test("polls do not raise the revision")
  func polls() throws {
    let event = try scene.event()
    let started = try scene.start("sca", event, ["verification": ["method": "PUSH_NOTIFICATION"]])
    let flow = try scene.moved(started, "waits for the person") { $0["state"] == "challenged" }
    let seen = try scene.requests("event")
    try eventually("it asks again and again") { try scene.requests("event") > seen + 2 }
    #expect(try scene.flow(flow)["revision"] == flow["revision"])
  }

  @Test("a push that is refused on the phone is denied")
  func refused() throws {
    let event = try scene.event()
    let flow = try scene.start("sca", event, ["verification": ["method": "PUSH_NOTIFICATION"]])
    _ = try scene.moved(flow, "waits for the person") { $0["state"] == "challenged" }
    try scene.decide(event.id, approve: false)
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "failed")
    #expect(end.failure["reason"] == "denied")
  }

  @Test("a redirect is opened, and settled by the backend whatever its query says")
  func redirect() throws {
    let event = try scene.event()
    let flow = try scene.sca(
      event,
      [
        "verification": ["method": "BIOMETRIC", "channel": "REDIRECT"],
        "returnUrl": "http://127.0.0.1:9/back",
      ])
    #expect(flow.stepType == "openURL")
    #expect(flow["step"]?["completes"] == "poll")
    #expect(flow["step"]?["redirectURI"] == "http://127.0.0.1:9/back")
    // Whoever says success: nobody has approved.
    let claimed = try scene.submit(
      ["type": "openURL", "redirectURL": "http://127.0.0.1:9/back?status=success"], to: flow,
      waitMs: 0)
    #expect(claimed["status"] == "active")
    let asked = try scene.requests("event")
    try eventually("the backend is asked") { try scene.requests("event") > asked }
    #expect(try scene.flow(flow)["status"] == "active")
    let page = try Web.post(flow.url, form: ["decision": "approve"])
    #expect(page.location?.hasPrefix("http://127.0.0.1:9/back?status=success") == true)
    succeeded(try scene.app.finished(flow), event)
  }

  @Test("a redirect that claims success although it was denied is denied")
  func liar() throws {
    try scene.set(["redirectStatus": "success"])
    let event = try scene.event()
    let flow = try scene.sca(
      event,
      [
        "verification": ["method": "BIOMETRIC", "channel": "REDIRECT"],
        "returnUrl": "http://127.0.0.1:9/back",
      ])
    let back = try Web.post(flow.url, form: ["decision": "deny"]).location
    #expect(back?.contains("status=success") == true)
    let end = try scene.app.finished(flow)
    #expect(end.failure["reason"] == "denied")
  }

  @Test("where several are available the person chooses; what cannot be done is not offered")
  func choosing() throws {
    let event = try scene.event([
      "availableVerifications": ["OTP.SMS", "PASSKEYS", "PIN", "BIOMETRIC.REDIRECT"]
    ])
    let flow = try scene.sca(event)
    #expect(flow.stepType == "choose")
    #expect(flow["step"]?["what"] == "verification")
    let options = flow["step"]?["options"]?.arrayValue ?? []
    #expect(options.map { $0["id"] } == ["OTP.SMS", "PIN"])
    #expect(
      try scene.refusal(["type": "choose", "id": "PASSKEYS"], to: flow) == (
        "invalid_input", "input.id"
      ))
    let challenged = try scene.submit(["type": "choose", "id": "OTP.SMS"], to: flow)
    succeeded(try scene.enter(scene.code(), to: challenged), event)
  }

  @Test("of one verification nobody is asked")
  func onlyOne() throws {
    let event = try scene.event(["availableVerifications": ["OTP.EMAIL"]])
    let flow = try scene.sca(event)
    #expect(flow["step"]?["channel"] == "email")
    succeeded(try scene.enter(scene.code("email"), to: flow), event)
  }
}

extension PaysafeScene {
  /// Starts a flow about an event and returns it as it begins.
  func start(
    _ kind: String, _ event: (id: String, operation: String), _ more: JSONValue = [:]
  ) throws -> JSONValue {
    var params = more
    params["eventId"] = .string(event.id)
    params["walletOperationId"] = .string(event.operation)
    return try app.flow(
      in: app.call(
        "flow.start",
        ["provider": "paysafe", "kind": .string(kind), "params": params]))
  }
}
