import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Codes: their shape, wrong ones and their cap, those that come late, and a server in trouble.
@Suite("Truecaller: codes", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerCodeTests {
  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  @Test("a code of another shape is invalid_input, and nothing changes")
  func shape() throws {
    let flow = try scene.verify()
    let bad = [
      "", "12345", "1234567", "123 456", " 123456", "123456\n", "12345a", "१२३४५६", "１２３４５６",
    ]
    for code in bad {
      let (reason, field) = try scene.refusal(TruecallerScene.entry(code), to: flow)
      #expect(reason == "invalid_input" && field == "input.code", "\(code): \(reason ?? "none")")
    }
    #expect(try scene.flow(flow) == flow)
    #expect(try scene.requests("verify") == 0)
    #expect(try scene.enter(scene.code(), to: flow)["status"] == "succeeded")
  }

  @Test("inputs that the step does not take, and fields of other names, change nothing")
  func inputs() throws {
    let flow = try scene.verify()
    var entry = TruecallerScene.entry(try scene.code())
    entry["fields"] = ["firstName": "Asha", "lastName": "", "middleName": "B"]
    #expect(try scene.refusal(entry, to: flow) == ("invalid_input", "input.fields.middleName"))
    #expect(
      try scene.refusal(["type": "enterPassword", "password": "x"], to: flow).0
        == "unexpected_input")
    #expect(try scene.refusal(["type": "enterCode"], to: flow).0 == "invalid_input")
    #expect(
      try scene.refusal(["type": "enterCode", "resend": false], to: flow).0 == "invalid_input")
    #expect(try scene.flow(flow) == flow)
  }

  @Test("as many digits as are configured")
  func otherLength() throws {
    let eight = try TruecallerScene(provider: "otp_digits = 8")
    try eight.set(["otpDigits": 8])
    let flow = try eight.verify()
    #expect(flow["step"]?["digits"] == 8)
    #expect(try eight.refusal(TruecallerScene.entry("123456"), to: flow).1 == "input.code")
    #expect(try eight.enter(eight.code(), to: flow)["status"] == "succeeded")
  }

  @Test("wrong codes until the cap, then attempts_exhausted; the right one does not help then")
  func cap() throws {
    try scene.set(["wrongCodeCap": 2])
    var flow = try scene.verify()
    for _ in 0..<2 {
      flow = try scene.enter(scene.wrongCode(), to: flow)
      #expect(flow.problem == ["wrong_code", "10"])
      #expect(flow["state"] == "otpInitiated")
    }
    let end = try scene.enter(scene.code(), to: flow)
    #expect(end["status"] == "failed")
    #expect(end.failure == ["attempts_exhausted", "10", "4293"], "\(end.text)")
    #expect(try scene.app.call("account.list")["accounts"] == [])
  }

  @Test("a code after the TTL is code_expired without a call; resend gives one with a new TTL")
  func late() throws {
    try scene.set(["tokenTtl": 1])
    let flow = try scene.verify()
    let code = try scene.code()
    try passed(flow.codeEnd())
    let late = try scene.enter(code, to: flow)
    #expect(late["state"] == "otpInitiated")
    #expect(late.problem == ["code_expired", "10"], "\(late.text)")
    #expect(try scene.requests("verify") == 0)
    try scene.set(["tokenTtl": 60])
    let again = try scene.resend(late)
    #expect(again["problem"] == .null)
    #expect(try again.codeEnd() > flow.codeEnd())
    #expect(try scene.enter(scene.code(), to: again)["status"] == "succeeded")
  }

  @Test("the code of before the resend is a wrong one")
  func oldCode() throws {
    try scene.set(["tokenTtl": 1])
    let flow = try scene.verify()
    let old = try scene.code()
    try passed(flow.codeEnd())
    try scene.set(["tokenTtl": 60])
    let again = try scene.resend(flow)
    // By chance, once in a million, both are the same.
    guard try scene.code() != old else { return }
    #expect(try scene.enter(old, to: again).problem == ["wrong_code", "10"])
  }

  @Test("the server says first that the time is over: another can be asked for at once")
  func serverSaysLate() throws {
    let flow = try scene.verify()
    let code = try scene.code()
    try scene.sandbox.control("POST", "settings", ["clockOffsetSeconds": 61])
    let late = try scene.enter(code, to: flow)
    #expect(late.problem == ["code_expired", "10"], "\(late.text)")
    #expect(late["problem"]?["provider"]?["error"] == "4100")
    let again = try scene.resend(late)
    #expect(again["problem"] == .null)
    #expect(try scene.requests("create") == 2)
  }

  @Test("the daily caps of a number and of an installation: attempts_exhausted")
  func dailyCaps() throws {
    try scene.set(["numberDailyCap": 1, "installationDailyCap": 2])
    #expect(try scene.verify()["state"] == "otpInitiated")
    #expect(try scene.verify().failure == ["attempts_exhausted", "10", "4291"])
    #expect(try scene.verify("9876543211")["state"] == "otpInitiated")
    #expect(try scene.verify("9876543212").failure == ["attempts_exhausted", "10", "4292"])
    try scene.sandbox.control("DELETE", "truecaller/caps")
    #expect(try scene.verify()["state"] == "otpInitiated")
  }

  @Test(
    "a create of unknown outcome ends the flow and is never repeated; another flow gets a code",
    arguments: [
      (["reset": true], "9", 0), (["status": 503], "10", 0),
      (["reset": true, "processed": true], "9", 1), (["status": 503, "processed": true], "10", 1),
      (["halfBody": true], "9", 1),
    ] as [(JSONValue, String, Int)])
  func createInTrouble(fault: JSONValue, error: String, sent: Int) throws {
    try scene.spoil("create", fault, times: 1)
    let end = try scene.app.finished(scene.start())
    #expect(end["failure"]?["reason"] == "provider_unreachable", "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(end["failure"]?["provider"]?["code"] == .string(error))
    #expect(try scene.requests("create") == 1)
    #expect(try scene.messages().count == sent)
    let flow = try scene.verify()
    #expect(try scene.enter(scene.code(), to: flow)["status"] == "succeeded")
  }

  @Test(
    "a code that may have been seen is not sent twice: it is asked for again",
    arguments: [
      (["status": 503], "10"), (["reset": true], "9"), (["reset": true, "processed": true], "9"),
      (["halfBody": true], "9"),
    ] as [(JSONValue, String)])
  func verifyInTrouble(fault: JSONValue, error: String) throws {
    let flow = try scene.verify()
    try scene.spoil("verify", fault, times: 1)
    let asked = try scene.enter(scene.code(), to: flow)
    #expect(asked["state"] == "otpInitiated")
    #expect(asked.problem == ["provider_unreachable", error], "\(asked.text)")
    #expect(try scene.requests("verify") == 1)
    // Also where the server had accepted it already.
    #expect(try scene.enter(scene.code(), to: asked)["status"] == "succeeded")
  }

  @Test("the app key is deleted before the code is entered: it is said, and the flow waits for it")
  func keyDeleted() throws {
    let flow = try scene.verify()
    #expect(try scene.daemon.usherctl(["credential", "delete", "truecaller-app-key"]).status == 0)
    let sent = try scene.enter(scene.code(), to: flow, waitMs: 0)
    let told = try scene.moved(sent, "is in trouble") { $0.problem[0] != nil }
    #expect(told["state"] == "otpReceived" && told.problem == ["provider_unreachable", "9"])
    #expect(told["problem"]?["message"]?.stringValue?.contains("credential set") == true)
    #expect(try scene.requests("verify") == 0)
    try scene.daemon.setCredential("truecaller-app-key", TruecallerScene.appKey)
    #expect(try scene.app.finished(told, within: 40)["status"] == "succeeded")
  }

  @Test("too many requests: rate_limited with the time to wait, at otpInitiated")
  func tooMany() throws {
    let flow = try scene.verify()
    try scene.spoil(
      "verify", ["status": 429, "body": [:], "headers": ["Retry-After": "3"]], times: 1)
    let asked = try scene.enter(scene.code(), to: flow)
    #expect(asked.problem == ["rate_limited", "10"], "\(asked.text)")
    #expect(asked["problem"]?["retryAfterMs"] == 3000)
    #expect(try scene.enter(scene.code(), to: asked)["status"] == "succeeded")
  }

  @Test("two answers at once: one is taken, the other is told of a conflict")
  func twoAtOnce() throws {
    let flow = try scene.verify()
    let entry = TruecallerScene.entry(try scene.code())
    try scene.spoil("verify", ["delayMs": 300], times: 1)
    _ = try scene.submit(entry, to: flow, waitMs: 0)
    #expect(try scene.refusal(entry, to: flow).0 == "conflict")
    #expect(try scene.app.finished(flow)["status"] == "succeeded")
    #expect(try scene.requests("verify") == 1)
  }
}
