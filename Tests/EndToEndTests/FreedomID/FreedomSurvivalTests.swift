import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle: what was typed is asked for again, and nothing that was told is lost.
@Suite("Freedom ID and kill -9", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct FreedomSurvivalTests {
  private let scene: FreedomScene

  init() throws {
    scene = try FreedomScene()
    try scene.set(["resendSeconds": 0])
  }

  /// Answers a step, kills the daemon before the provider's answer comes, and starts it again.
  ///
  /// - Parameter endpoint: Where the answer hangs.
  /// - Parameter processed: Whether the provider has done what it was asked for.
  private func killed(
    _ flow: JSONValue, _ guest: FreedomGuest, at endpoint: String, processed: Bool
  ) throws -> (FreedomScene, JSONValue) {
    try scene.spoil(endpoint, ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let before = try scene.requests(endpoint)
    let sent = try scene.submit(scene.answer(to: flow, guest), to: flow, waitMs: 0)
    try eventually("it is under way") { try scene.requests(endpoint) == before + 1 }
    try scene.daemon.restart()
    let after = try scene.again()
    return (
      after,
      try after.moved(sent, "asks again") {
        ["interrupted", "may_have_been_sent"].contains($0.problem) || $0["status"] != "active"
      }
    )
  }

  @Test(
    "while a password is checked: it is asked for again, with interrupted, and the flow goes on",
    arguments: [false, true])
  func password(processed: Bool) throws {
    let flow = try scene.standing(at: "enterPassword")
    let (after, asked) = try killed(flow, .alice, at: "password", processed: processed)
    #expect(asked.problem == "interrupted" && asked["step"] == flow["step"], "\(asked.text)")
    let end = try after.walk(asked)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("password") == 2)
    #expect(try after.accounts().count == 1)
  }

  @Test(
    "while the SMS is asked for: it may have been sent, and is not asked for again at once",
    arguments: [false, true])
  func sending(processed: Bool) throws {
    let guest = FreedomGuest.alice.by(.phoneOTP)
    let flow = try scene.standing(at: "fillForm", ["read.firstname"], guest)
    let (after, asked) = try killed(flow, guest, at: "otp", processed: processed)
    #expect(asked.problem == "may_have_been_sent" && asked.stepType == "fillForm", "\(asked.text)")
    let early = try after.submit(after.answer(to: asked, guest), to: asked)
    #expect(early.problem == "too_early" && early.stepType == "fillForm", "\(early.text)")
    #expect(try scene.requests("otp") == 1)
    #expect(try after.walk(after.back(early))["status"] == "succeeded")
  }

  @Test("while a code is checked that was not seen: the same code is good")
  func code() throws {
    let guest = FreedomGuest.alice.by(.phoneOTP)
    let flow = try scene.standing(at: "enterCode", ["read.firstname"], guest)
    let (after, asked) = try killed(flow, guest, at: "verify", processed: false)
    #expect(asked.problem == "interrupted" && asked["step"] == flow["step"], "\(asked.text)")
    #expect(try after.walk(asked, guest)["status"] == "succeeded")
    #expect(try scene.messages().count == 1)
  }

  @Test("while a code is checked that was spent: it is over, and one can go back for another")
  func spentCode() throws {
    let guest = FreedomGuest.alice.by(.phoneOTP)
    let flow = try scene.standing(at: "enterCode", ["read.firstname"], guest)
    let (after, asked) = try killed(flow, guest, at: "verify", processed: true)
    #expect(asked.problem == "interrupted", "\(asked.text)")
    let over = try after.enter(code: scene.code(), at: asked)
    #expect(over.problem == "code_expired" && over.stepType == "enterCode", "\(over.text)")
    let end = try after.walk(after.back(over), guest)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.messages().count == 2)
  }

  @Test("while the second factor is checked: it is asked for again, and the password is not")
  func secondFactor() throws {
    let flow = try scene.standing(at: "enterCode", ["read.firstname"], .aigerim)
    #expect(flow["step"]?["purpose"] == "twoFactor")
    let (after, asked) = try killed(flow, .aigerim, at: "twoFactor", processed: false)
    #expect(asked.problem == "interrupted" && asked["step"] == flow["step"], "\(asked.text)")
    #expect(try after.walk(asked, .aigerim)["status"] == "succeeded")
    #expect(try scene.requests("password") == 1)
  }

  @Test("between two steps nothing changes, and a challenge outlives the restart")
  func betweenSteps() throws {
    for type in ["choose", "fillForm", "enterPassword", "localAuth", "consent"] {
      let flow = try scene.again().standing(at: type)
      try scene.daemon.restart()
      #expect(try scene.again().flow(flow) == flow, "\(type)")
      _ = try scene.again().app.call("client.clear", ["provider": "freedom"])
    }
    let asked = try scene.again().standing(at: "enterCode", ["read.firstname"], .aigerim)
    try scene.daemon.restart()
    #expect(try scene.again().walk(asked, .aigerim)["status"] == "succeeded")
    #expect(try scene.messages().count == 1)
  }

  @Test("while the passcode is checked it is asked for again, or it was accepted")
  func passcode() throws {
    let flow = try scene.standing(at: "localAuth")
    let sent = try scene.submit(scene.answer(to: flow), to: flow, waitMs: 0)
    try scene.daemon.restart()
    let after = try scene.again()
    let asked = try after.moved(sent, "stands") { ["localAuth", "consent"].contains($0.stepType) }
    #expect(try after.walk(asked)["status"] == "succeeded")
  }

  @Test(
    "while the profile is read: nobody is asked again, and it is one consent at the provider",
    arguments: [false, true])
  func completing(processed: Bool) throws {
    let flow = try scene.standing(at: "consent", ["read.firstname", "read.phone"])
    try scene.spoil("consent", ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let sent = try scene.submit(
      ["type": "consent", "granted": ["read.phone"]], to: flow, waitMs: 0)
    try eventually("it is under way") { try scene.requests("consent") == 1 }
    try scene.daemon.restart()
    let after = try scene.again()
    let end = try after.app.finished(sent)
    #expect(end.profile == ["phone": "+447700900123"], "\(end.text)")
    #expect(try scene.list("consents").count == 1)
    #expect(try after.consents().map { $0["grant"] } == ["read.phone"])
  }

  @Test("accounts, consents, the passcode and the device outlive the daemon")
  func afterwards() throws {
    let account = try scene.authorized(["read.firstname"])["result"]?["account"]
    let consents = try scene.consents()
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.account(account)["profile"] == ["firstname": "Alice"])
    #expect(try after.consents() == consents)
    try after.authorized(["read.lastname"])
    #expect(Set(try scene.list("accounts").compactMap { $0["device"]?.stringValue }).count == 1)
    #expect(try scene.requests("password") == 1)
  }
}
