import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle: nothing that was told is lost, and nothing is sent twice unseen.
@Suite("Paysafe and kill -9", .mayBlock, .ownProcess)
struct PaysafeSurvivalTests {
  private static let sms: JSONValue = ["verification": ["method": "OTP", "channel": "SMS"]]

  private func restarted(_ scene: PaysafeScene, _ flow: JSONValue) throws -> JSONValue {
    try scene.daemon.restart()
    return try scene.again().flow(flow)
  }

  @Test("a restart between redirect and exchange loses nothing: the open page still signs in")
  func openPage() throws {
    let scene = try PaysafeScene()
    let flow = try scene.app.startFlow("paysafe", "authorize")
    let back = try #require(try Customer.decide(at: flow.url).location)
    try scene.daemon.restart()
    let after = try scene.again()
    try eventually("the browser is answered") { (try? Web.get(back))?.status == 200 }
    #expect(try after.app.finished(flow)["status"] == "succeeded")
  }

  @Test("the code that a partner's backend was handed is handed out again after a restart")
  func handedOut() throws {
    let scene = try PaysafeScene(provider: "exchange = \"app\"")
    let flow = try scene.app.startFlow("paysafe", "authorize")
    try Customer.signIn(at: flow.url)
    let before = try scene.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let after = try restarted(scene, before)
    #expect(after["step"] == before["step"])
    #expect(after["revision"] == before["revision"])
  }

  @Test("between challenge and attempt it resumes at enterCode; the code there is still good")
  func betweenChallengeAndAttempt() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    let code = try scene.code()
    let after = try restarted(scene, flow)
    #expect(after == flow)
    let end = try scene.again().enter(code, to: after)
    #expect(end["status"] == "succeeded")
    #expect(try scene.messages("sms") == 1)
  }

  @Test("attempts are counted on over restarts")
  func counters() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let event = try scene.event()
    var flow = try scene.sca(event, Self.sms)
    for left: JSONValue in [2, 1] {
      flow = try scene.again().enter(scene.wrongCode(), to: flow)
      #expect(flow["step"]?["attemptsLeft"] == left)
      flow = try restarted(scene, flow)
      #expect(flow["step"]?["attemptsLeft"] == left)
    }
    let end = try scene.again().enter(scene.wrongCode(), to: flow)
    #expect(end.failure["provider"]?["code"] == "dataError", "\(end.text)")
  }

  @Test("a challenge in flight went out: no second SMS, and the person is told")
  func challengeInFlight() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let event = try scene.event()
    try scene.spoil("challenge", ["delayMs": 60_000, "processed": true], times: 1)
    let flow = try scene.start("sca", event, Self.sms)
    try eventually("the SMS goes out") { try scene.messages("sms") == 1 }
    try scene.daemon.restart()
    let after = try scene.again()
    let there = try after.moved(flow, "asks for the code") { $0.stepType == "enterCode" }
    #expect(there.problem == "interrupted", "\(there.text)")
    #expect(try scene.messages("sms") == 1)
    #expect(try after.enter(scene.code(), to: there)["status"] == "succeeded")
  }

  @Test("an attempt in flight that was right is not submitted again: the backend is asked")
  func attemptInFlight() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    try scene.spoil("attempt", ["delayMs": 60_000, "processed": true], times: 1)
    let code = try scene.code()
    let sent = try scene.submit(["type": "enterCode", "code": .string(code)], to: flow, waitMs: 0)
    try eventually("the backend has verified") {
      try scene.event(event.id)["status"] == "VERIFIED"
    }
    try scene.daemon.restart()
    let end = try scene.again().app.finished(sent)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("attempt") == 1)
  }

  @Test("an attempt in flight that never arrived is asked of the person again")
  func attemptLost() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let event = try scene.event()
    let flow = try scene.sca(event, Self.sms)
    try scene.spoil("attempt", ["delayMs": 60_000], times: 1)
    let code = try scene.code()
    _ = try scene.submit(["type": "enterCode", "code": .string(code)], to: flow, waitMs: 0)
    try eventually("the attempt is on its way") { try scene.requests("attempt") == 1 }
    try scene.daemon.restart()
    let after = try scene.again()
    let asked = try after.moved(flow, "asks again") { $0.problem == "interrupted" }
    #expect(asked.stepType == "enterCode")
    #expect(try after.enter(code, to: asked)["status"] == "succeeded")
  }

  @Test("a payment in flight is not made again in the dark; a step-up goes on where it stood")
  func operations() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let approved = try scene.pay("120.00", Self.sms)
    let code = try scene.code()
    try scene.spoil("payment", ["delayMs": 60_000, "processed": true], times: 1)
    let dark = try scene.pay("20.00", waitMs: 0)
    try eventually("it is performed") { try scene.performed("POST").count == 1 }
    try scene.daemon.restart()
    let after = try scene.again()
    let lost = try after.app.finished(dark)
    #expect(lost["status"] == "failed")
    #expect(lost.failure["reason"] == "provider_unreachable", "\(lost.text)")
    let end = try after.enter(code, to: approved)
    #expect(end["result"]?["status"] == 201, "\(end.text)")
    #expect(try scene.performed("POST").count == 2)
  }

  @Test("push goes on being asked about after a restart")
  func push() throws {
    let scene = try PaysafeScene(signedIn: "alice")
    let event = try scene.event()
    let flow = try scene.start("sca", event, ["verification": ["method": "PUSH_NOTIFICATION"]])
    _ = try scene.moved(flow, "waits") { $0["state"] == "challenged" }
    try scene.daemon.restart()
    try scene.decide(event.id, approve: true)
    #expect(try scene.again().app.finished(flow)["status"] == "succeeded")
    #expect(try scene.messages("push") == 1)
  }
}

extension PaysafeScene {
  /// The same with a new connection, after a restart of the daemon.
  func again() throws -> PaysafeScene { PaysafeScene(sandbox, daemon, try daemon.client()) }
}
