import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in the middle. What a flow does after a restart in each of its states is asserted by the
/// tests of its machine; here the daemon really dies.
@Suite("GoPay and kill -9", .mayBlock, .timeLimit(.minutes(10)))
struct GoPaySurvivalTests {
  @Test("the pages that are open in the browser lead on: at the log-in and at the capture")
  func openPages() throws {
    let scene = try GoPayScene()
    let flow = try scene.verify()
    let back = try GoPayPerson.decide(at: flow.url, scene.sandbox)
    var after = try scene.restarted()
    #expect(try after.flow(flow)["step"]?["url"] == flow["step"]?["url"])
    try eventually("the browser is answered") { (try? Web.get(back))?.status == 200 }
    let asked = try after.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try scene.redeem(asked.authCode)
    let page = try after.submit(GoPayScene.exchanged(token: link), to: asked)
    #expect(try scene.codeStates() == ["redeemed"])
    after = try after.restarted()
    #expect(try after.flow(page) == page)
    // What is handed in while no daemon is there is found.
    try scene.daemon.stop()
    try GoPayScene.photograph(at: page.url)
    try scene.daemon.start()
    #expect(try scene.again().app.finished(flow)["status"] == "succeeded")
    #expect(try scene.submissions().count == 1 && scene.requests("capture") == 1)
  }

  @Test(
    "by SNAP a binding that was made is not made twice; the conflict asks for another code",
    .ownProcess)
  func bindingDone() throws {
    let scene = try GoPayScene(.snap)
    let flow = try scene.holding("binding", processed: true) {
      try scene.verify("exchange", token: "alice-long-term", waitMs: 0)
    }
    let after = try scene.restarted()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.codeStates() == ["redeemed", "redeemed"])
    #expect(try scene.requests("binding") == 3)
    #expect(try after.handIn(page)["status"] == "succeeded")
    #expect(try after.accounts().count == 1)
  }

  @Test(
    "by the backend it is asked again with the same requestId, and one code is redeemed",
    .ownProcess)
  func backend() throws {
    let scene = try GoPayScene(.backend)
    let flow = try scene.holding("exchange", processed: true) {
      try scene.verify("exchange", token: "alice-long-term", waitMs: 0)
    }
    let after = try scene.restarted()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.requests("exchange") == 2)
    #expect(try scene.codeStates() == ["redeemed"])
    #expect(try after.handIn(page)["status"] == "succeeded")
  }

  @Test("what has ended stays as it ended, with its account, token and verdict")
  func ended() throws {
    let scene = try GoPayScene()
    let failed = try scene.verify("none", token: "expired-token")
    let done = try scene.verified()
    #expect(try scene.decide(done.submissionID, "COMPLETED", "VALID", push: false) == [])
    #expect(try scene.push(done.submissionID) == [200])
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    let account = try scene.account(of: done)
    #expect(account["attributes"]?["kyc"]?["result"] == "VALID")
    let after = try scene.restarted()
    for flow in [failed, done] { #expect(try after.flow(flow) == flow) }
    #expect(try after.account(of: done) == account)
    #expect(try after.app.call("token.get", ["provider": "gopay"]) == token)
  }

  @Test(
    "wherever it dies in a verification, nothing that was told is lost and nothing is doubled",
    .ownProcess, arguments: failPoints)
  func deaths(point: String) async throws {
    try await aside {
      let deaths = try GoPayScene().deaths(at: point) { number in
        let story = GoPayStory("corr-\(number)", "req-\(number)")
        return { try story.run($0) }
      }
      // Started, code, exchanged, page, submitted: at least.
      #expect((4..<29).contains(deaths), "it died so often: \(deaths)")
    }
  }
}

/// One verification as seen from outside, by a program and its backend, which outlive the daemon.
private final class GoPayStory {
  private let person: String
  private let requestID: String
  private let story: FlowStory<GoPayScene>
  /// What the backend got for each auth code that it was handed.
  private var links: [String: String] = [:]
  private var isPhotographed = false

  init(_ person: String, _ requestID: String) {
    self.person = person
    self.requestID = requestID
    story = FlowStory(GoPayScene.start("exchange", "alice-short-term", person, requestID))
  }

  func run(_ scene: GoPayScene) throws {
    let end = try story.run(scene) { flow in
      if flow.stepType == "exchangeCredential" {
        let link = try links[flow.authCode] ?? scene.redeem(flow.authCode)
        links[flow.authCode] = link
        return try scene.submit(GoPayScene.exchanged(person, token: link), to: flow)
      }
      if flow.completes == "poll", !isPhotographed {
        try GoPayScene.photograph(at: flow.url)
        isPhotographed = true
      }
      return nil
    }
    guard end["status"] == "succeeded" else { throw TestError("not verified: \(end.text)") }
    // The backend has heard of one code only, and redeemed it once.
    guard links.count == 1, let link = links.values.first else {
      throw TestError("\(links.count) codes were handed out")
    }
    let mine = try scene.submissions().filter { $0["partnerSessionId"] == .string(requestID) }
    guard mine.count == 1, mine[0]["submissionId"] == .string(end.submissionID) else {
      throw TestError("submissions: \(mine)")
    }
    let accounts = try scene.accounts()
    guard accounts.count(where: { $0["subject"] == .string(person) }) == 1 else {
      throw TestError("accounts: \(accounts)")
    }
    let account = end["result"]?["account"] ?? .null
    let token = try scene.app.call("token.get", ["account": account])
    guard token["accessToken"] == .string(link) else { throw TestError("another token") }
  }
}
