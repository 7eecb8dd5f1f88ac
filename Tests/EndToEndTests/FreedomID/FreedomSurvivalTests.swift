import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Kills the daemon's process in the middle of a flow. The tests of the flows' state machines cover
/// a restart in each state, and ``FreedomCanaryTests`` covers kills during secret inputs.
@Suite("Freedom ID flows when the daemon is killed", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomSurvivalTests {
  @Test(
    "after kill -9, a Freedom ID SMS is not requested again; a profile is, with one consent",
    .ownProcess)
  func device() throws {
    let fixture = try FreedomFixture()
    let guest = FreedomGuest.alice.by(.phoneOTP)
    let flow = try fixture.standing(at: "fillForm", ["read.firstname"], guest)
    let sent = try fixture.holding("otp", processed: true) {
      try fixture.submit(fixture.answer(to: flow, guest), to: flow, waitMs: 0)
    }
    var after = try fixture.restarted()
    let asked = try after.moved(sent, "asks again") { $0.problem != nil }
    #expect(asked.problem == "may_have_been_sent" && asked.stepType == "fillForm", "\(asked.text)")
    #expect(try fixture.requests("otp") == 1)
    _ = try after.cancel(asked)

    let consent = try after.standing(at: "consent", ["read.firstname", "read.phone"])
    let granted = try after.holding("consent", processed: true) {
      try after.submit(["type": "consent", "granted": ["read.phone"]], to: consent, waitMs: 0)
    }
    after = try after.restarted()
    let end = try after.app.finished(granted)
    #expect(end.profile == ["phone": "+447700900123"], "\(end.text)")
    #expect(try fixture.list("consents").count == 1)
    #expect(try after.consents().map { $0["grant"] } == ["read.phone"])
  }

  @Test("after kill -9, a Freedom ID code that may be spent is not redeemed again", .ownProcess)
  func exchanging() throws {
    let fixture = try FreedomFixture.partner()
    let flow = try fixture.authorize(["read.firstname"])
    let back = try fixture.decide(at: flow.url)
    _ = try fixture.holding("token", processed: true) { try Web.get(back) }
    let after = try fixture.restarted()
    let again = try after.anotherPage(than: flow)
    #expect(again.problem == "interrupted" && again.redirectURI != flow.redirectURI)
    try after.visit(again)
    let end = try after.app.finished(again)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try fixture.requests("token") == 2)
    #expect(try after.accounts().count == 1)
  }

  @Test(
    "after kill -9, Freedom ID requestProfile stays one request, and createUser is not repeated",
    .ownProcess)
  func others() throws {
    let fixture = try FreedomFixture.partner()
    try fixture.signedIn(["read.profile"])
    let flow = try fixture.holding("profile", processed: true) {
      try fixture.perform(
        "requestProfile", ["phone": "+447700900456", "grants": ["read.firstname"]], waitMs: 0)
    }
    var after = try fixture.restarted()
    let request = try #require(try fixture.list("requests").first)
    try fixture.sandbox.control(
      "POST", "freedomid/requests/\(request["requestId"]?.stringValue ?? "")",
      ["status": "accepted"])
    #expect(try after.app.finished(flow).profile == ["firstname": "Bob"])
    #expect(try fixture.list("requests").count == 1)

    let people = try fixture.list("people").count
    let made = try after.holding("createUser", processed: true) {
      try after.perform("createUser", ["phone": "+77015550001"], waitMs: 0)
    }
    after = try after.restarted()
    let end = try after.app.finished(made)
    #expect(end.failure == ["provider_unreachable", "networkError.streamError", nil])
    #expect(end["failure"]?["message"]?.stringValue?.contains("not known") == true, "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try fixture.requests("createUser") == 1)
    #expect(try fixture.list("people").count == people + 1)
  }

  @Test("a page opened before a restart of the daemon still completes the Freedom ID log-in")
  func openPage() throws {
    let fixture = try FreedomFixture.partner()
    let flow = try fixture.authorize(["read.firstname"])
    let back = try fixture.decide(at: flow.url)
    let after = try fixture.restarted()
    #expect(try after.flow(flow) == flow)
    try eventually("the restarted daemon answers at the redirect URL") {
      (try? Web.get(back).status) == 200
    }
    #expect(try after.app.finished(flow)["status"] == "succeeded")
    #expect(try fixture.requests("link") == 1)
  }
}
