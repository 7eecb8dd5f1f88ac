import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle: nothing that was told is lost, and no code is checked twice unseen.
@Suite("Truecaller and kill -9", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct TruecallerSurvivalTests {
  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  @Test("between create and verify: it resumes with what is left of the TTL; the code is good")
  func betweenCreateAndVerify() throws {
    let flow = try scene.verify()
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.flow(flow) == flow)
    #expect(try scene.requests("create") == 1)
    #expect(try after.resend(flow).problem == ["rate_limited", "10"])
    let end = try after.enter(scene.code(), to: after.flow(flow))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.messages().count == 1)
  }

  @Test("the TTL runs on while the daemon is dead: the code is late, and resend works")
  func lateAfterwards() throws {
    try scene.set(["tokenTtl": 2])
    let flow = try scene.verify()
    let code = try scene.code()
    scene.daemon.killAtOnce()
    try passed(flow.codeEnd())
    try scene.daemon.start()
    let after = try scene.again()
    #expect(try after.flow(flow)["step"] == flow["step"])
    let late = try after.enter(code, to: flow)
    #expect(late.problem == ["code_expired", "10"], "\(late.text)")
    #expect(try scene.requests("verify") == 0)
    #expect(try after.resend(late)["problem"] == .null)
    #expect(try scene.messages().count == 2)
  }

  @Test("a problem that was told is still told, and the wrong codes still count")
  func problem() throws {
    try scene.set(["wrongCodeCap": 1])
    let flow = try scene.verify()
    let wrong = try scene.enter(scene.wrongCode(), to: flow)
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.flow(wrong) == wrong)
    let end = try after.enter(scene.code(), to: wrong)
    #expect(end.failure == ["attempts_exhausted", "10", "4293"])
  }

  @Test(
    "a kill while the SMS is asked for ends the flow: none is asked for again, another flow gets one",
    arguments: [false, true])
  func whileCreating(processed: Bool) throws {
    try scene.spoil("create", ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let begun = try scene.start()
    try eventually("it is asked for") { try scene.requests("create") == 1 }
    try eventually("it is sent") { try scene.messages().count == (processed ? 1 : 0) }
    try scene.daemon.restart()
    let after = try scene.again()
    let end = try after.app.finished(begun)
    #expect(end.failure == ["provider_unreachable", "9", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try scene.requests("create") == 1)
    #expect(try scene.messages().count == (processed ? 1 : 0))
    let flow = try after.verify()
    #expect(try scene.messages().count == (processed ? 2 : 1))
    #expect(try after.enter(scene.code(), to: flow)["status"] == "succeeded")
  }

  @Test("a kill while another SMS is asked for by resend ends the flow, and sends no third one")
  func whileCreatingTwice() throws {
    try scene.set(["tokenTtl": 2])
    let flow = try scene.verify()
    try passed(flow.codeEnd())
    try scene.spoil("create", ["delayMs": 60_000, "processed": true], times: 1)
    let sent = try scene.submit(["type": "enterCode", "resend": true], to: flow, waitMs: 0)
    try eventually("another is sent") { try scene.messages().count == 2 }
    try scene.daemon.restart()
    let end = try scene.again().app.finished(sent)
    #expect(end.failure == ["provider_unreachable", "9", nil], "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try scene.requests("create") == 2 && scene.messages().count == 2)
  }

  @Test("while a code is checked that was good: the name typed with it is written later, too")
  func nameOfLostCode() throws {
    try scene.set(["tokenTtl": 4])
    let flow = try scene.verify()
    try scene.spoil("verify", ["delayMs": 60_000, "processed": true], times: 1)
    let sent = try scene.enter(scene.code(), "Zubeida", "Khan", to: flow, waitMs: 0)
    try eventually("the code is taken") {
      try scene.sandbox.control("GET", "truecaller/verified")["verified"]?.arrayValue?.count == 1
    }
    try scene.daemon.restart()
    let after = try scene.again()
    let asked = try after.moved(sent, "asks again") { $0.problem[0] != nil }
    try passed(flow.codeEnd())
    let end = try after.app.finished(after.resend(asked))
    #expect(end["status"] == "succeeded" && end["state"] == "verifiedBefore", "\(end.text)")
    #expect(end["result"]?["profile"]?["firstName"] == "Zubeida")
    #expect(try scene.profile()["lastName"] == "Khan")
    #expect(try scene.messages().count == 1)
  }

  @Test(
    "while a code is checked: it is asked for again with interrupted, and the TTL is the same",
    arguments: [false, true])
  func whileVerifying(processed: Bool) throws {
    let flow = try scene.verify()
    let code = try scene.code()
    try scene.spoil("verify", ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let sent = try scene.enter(code, to: flow, waitMs: 0)
    try eventually("the code is sent") { try scene.requests("verify") == 1 }
    try scene.daemon.restart()
    let after = try scene.again()
    let asked = try after.moved(sent, "asks again") { $0.problem[0] != nil }
    #expect(asked["state"] == "otpInitiated", "\(asked.text)")
    #expect(asked.problem == ["interrupted", nil])
    #expect(asked["step"] == flow["step"])
    #expect(try scene.requests("verify") == 1)
    #expect(try after.enter(code, to: asked)["status"] == "succeeded")
  }

  @Test(
    "with the access token in hand nobody is asked again: it goes on where it stood",
    arguments: ["validate", "update", "profile"])
  func whileAdmitting(endpoint: String) throws {
    let scene = try TruecallerScene(validation: "v2_8")
    let flow = try scene.verify()
    try scene.spoil(endpoint, ["delayMs": 60_000], times: 1)
    let sent = try scene.enter(scene.code(), to: flow, waitMs: 0)
    try eventually("it is under way") { try scene.requests(endpoint) == 1 }
    try scene.daemon.restart()
    let end = try scene.again().app.finished(sent)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["profile"]?["firstName"] == "Asha")
    #expect(try scene.requests("verify") == 1)
    #expect(try scene.requests(endpoint) == 2)
  }

  @Test("the installation and what it has verified outlive the daemon; so does the token")
  func afterwards() throws {
    try scene.verified()
    let token = try scene.app.call("token.get", ["provider": "truecaller"])
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.app.call("token.get", ["provider": "truecaller"]) == token)
    #expect(try after.verify()["state"] == "verifiedBefore")
    #expect(try scene.installations().count == 1)
  }
}
