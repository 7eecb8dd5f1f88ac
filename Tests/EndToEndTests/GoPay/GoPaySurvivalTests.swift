import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Restarts and kills the daemon in the middle of a flow. The tests of the flow's state machine
/// cover a restart in each state.
@Suite("GoPay flows when the daemon restarts or is killed", .mayBlock, .timeLimit(.minutes(10)))
struct GoPaySurvivalTests {
  @Test(
    "log-in and capture pages opened before a restart of the daemon still complete GoPay verify")
  func openPages() throws {
    let fixture = try GoPayFixture()
    let flow = try fixture.verify()
    let back = try GoPayPerson.decide(at: flow.url, fixture.sandbox)
    var after = try fixture.restarted()
    #expect(try after.flow(flow)["step"]?["url"] == flow["step"]?["url"])
    try eventually("the restarted daemon answers at the redirect URL") {
      (try? Web.get(back))?.status == 200
    }
    let asked = try after.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try fixture.redeem(asked.authCode)
    let page = try after.submit(GoPayFixture.exchanged(token: link), to: asked)
    #expect(try fixture.codeStates() == ["redeemed"])
    after = try after.restarted()
    #expect(try after.flow(page) == page)
    // A submission made while the daemon is stopped is found afterwards.
    try fixture.daemon.stop()
    try GoPayFixture.photograph(at: page.url)
    try fixture.daemon.start()
    #expect(try fixture.again().app.finished(flow)["status"] == "succeeded")
    #expect(try fixture.submissions().count == 1 && fixture.requests("capture") == 1)
  }

  @Test(
    "after kill -9, a SNAP binding that was made leads to one account, by a new auth code",
    .ownProcess)
  func bindingDone() throws {
    let fixture = try GoPayFixture(.snap)
    let flow = try fixture.holding("binding", processed: true) {
      try fixture.verify("exchange", token: "alice-long-term", waitMs: 0)
    }
    let after = try fixture.restarted()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try fixture.codeStates() == ["redeemed", "redeemed"])
    #expect(try fixture.requests("binding") == 3)
    #expect(try after.handIn(page)["status"] == "succeeded")
    #expect(try after.accounts().count == 1)
  }

  @Test(
    "after kill -9, GoPay's exchange by the backend is repeated, and one code is redeemed",
    .ownProcess)
  func backend() throws {
    let fixture = try GoPayFixture(.backend)
    let flow = try fixture.holding("exchange", processed: true) {
      try fixture.verify("exchange", token: "alice-long-term", waitMs: 0)
    }
    let after = try fixture.restarted()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try fixture.requests("exchange") == 2)
    #expect(try fixture.codeStates() == ["redeemed"])
    #expect(try after.handIn(page)["status"] == "succeeded")
  }

  @Test(
    "ended GoPay verify flows, their account, token and verdict survive a restart of the daemon")
  func ended() throws {
    let fixture = try GoPayFixture()
    let failed = try fixture.verify("none", token: "expired-token")
    let done = try fixture.verified()
    #expect(try fixture.decide(done.submissionID, "COMPLETED", "VALID", push: false) == [])
    #expect(try fixture.push(done.submissionID) == [200])
    let token = try fixture.app.call("token.get", ["provider": "gopay"])
    let account = try fixture.account(of: done)
    #expect(account["attributes"]?["kyc"]?["result"] == "VALID")
    let after = try fixture.restarted()
    for flow in [failed, done] { #expect(try after.flow(flow) == flow) }
    #expect(try after.account(of: done) == account)
    #expect(try after.app.call("token.get", ["provider": "gopay"]) == token)
  }

  @Test(
    "GoPay verify succeeds once wherever the daemon dies, and no reported state is lost",
    .ownProcess, arguments: failPoints)
  func deaths(point: String) throws {
    let deaths = try GoPayFixture().deaths(at: point) { number in
      let story = GoPayStory("corr-\(number)", "req-\(number)")
      return { try story.run($0) }
    }
    // At least these transitions: started, code, exchanged, page, submitted.
    #expect((4..<29).contains(deaths), "the daemon died \(deaths) times")
  }
}

/// One verification as seen by a program and its backend, which outlive the daemon.
private final class GoPayStory {
  private let person: String
  private let requestID: String
  private let story: FlowStory<GoPayFixture>
  /// The linking token for each auth code that the backend redeemed.
  private var links: [String: String] = [:]
  private var isPhotographed = false

  init(_ person: String, _ requestID: String) {
    self.person = person
    self.requestID = requestID
    story = FlowStory(GoPayFixture.start("exchange", "alice-short-term", person, requestID))
  }

  func run(_ fixture: GoPayFixture) throws {
    let end = try story.run(fixture) { flow in
      if flow.stepType == "exchangeCredential" {
        let link = try links[flow.authCode] ?? fixture.redeem(flow.authCode)
        links[flow.authCode] = link
        return try fixture.submit(GoPayFixture.exchanged(person, token: link), to: flow)
      }
      if flow.completes == "poll", !isPhotographed {
        try GoPayFixture.photograph(at: flow.url)
        isPhotographed = true
      }
      return nil
    }
    guard end["status"] == "succeeded" else {
      throw TestError("the verification did not succeed: \(end.text)")
    }
    // The backend was given one code only, and redeemed it once.
    guard links.count == 1, let link = links.values.first else {
      throw TestError("expected one auth code, got \(links.count)")
    }
    let mine = try fixture.submissions().filter { $0["partnerSessionId"] == .string(requestID) }
    guard mine.count == 1, mine[0]["submissionId"] == .string(end.submissionID) else {
      throw TestError("expected one submission, that of the flow: \(mine)")
    }
    let accounts = try fixture.accounts()
    guard accounts.count(where: { $0["subject"] == .string(person) }) == 1 else {
      throw TestError("expected one account of \(person): \(accounts)")
    }
    let account = end["result"]?["account"] ?? .null
    let token = try fixture.app.call("token.get", ["account": account])
    guard token["accessToken"] == .string(link) else {
      throw TestError("token.get returned another token than the linking token")
    }
  }
}
