import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in each state: nothing that was told is lost, no auth code is redeemed twice.
@Suite("GoPay and kill -9", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct GoPaySurvivalTests {
  typealias Mode = GoPayScene.Mode

  /// Starts a verification and leaves it at a call that takes long, until the provider has seen it.
  private func held(
    _ scene: GoPayScene, at endpoint: String, processed: Bool = false, _ receiver: String,
    more: JSONValue = [:]
  ) throws -> JSONValue {
    let before = try scene.requests(endpoint)
    try scene.spoil(endpoint, ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let token = more["account"] == nil ? "alice-long-term" : nil
    let flow = try scene.verify(receiver, token: token, more: more, waitMs: 0)
    try eventually("\(endpoint) is called") {
      try scene.requests(endpoint) == before + 1
    }
    return flow
  }

  @Test("login: the page that is open in the browser still leads back")
  func openPage() throws {
    let scene = try GoPayScene()
    let flow = try scene.verify()
    let back = try GoPayPerson.decide(at: flow.url, scene.sandbox)
    try scene.daemon.restart()
    let after = try scene.again()
    #expect(try after.flow(flow)["step"]?["url"] == flow["step"]?["url"])
    try eventually("the browser is answered") { (try? Web.get(back))?.status == 200 }
    let asked = try after.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try scene.redeem(asked.authCode)
    let page = try after.submit(GoPayScene.exchanged(token: link), to: asked)
    #expect(try after.handIn(page)["status"] == "succeeded")
    #expect(try scene.codeStates() == ["redeemed"])
  }

  @Test("login, and its port is taken meanwhile: another page, and the person is told")
  func portTaken() throws {
    let scene = try GoPayScene()
    let flow = try scene.verify()
    let port = try #require(
      URLComponents(string: flow["step"]?["redirectURI"]?.stringValue ?? "")?.port)
    scene.daemon.killAtOnce()
    let squatter = try RunningProgram(
      "/usr/bin/python3",
      [
        "-c",
        """
        import socket, sys, time
        s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", \(port))); s.listen(); print("taken", flush=True); time.sleep(60)
        """,
      ], log: scene.daemon.place.file("squatter.log"))
    try eventually("the port is taken") { squatter.log.contains("taken") }
    try scene.daemon.start()
    let after = try scene.again()
    let renewed = try after.moved(flow, "has another page") {
      $0.completes == "loopback" && $0.url != flow.url
    }
    #expect(renewed.problem[0] == "interrupted", "\(renewed.text)")
    #expect(renewed["step"]?["redirectURI"] != flow["step"]?["redirectURI"])
    try GoPayPerson.logIn(at: renewed.url, scene.sandbox)
    _ = try after.moved(renewed, "wants an exchange") { $0.stepType == "exchangeCredential" }
    #expect(squatter.isRunning)
  }

  @Test("authCode: another code is asked for; the one that nobody heard of is not redeemed")
  func authCode() throws {
    let scene = try GoPayScene()
    let flow = try held(scene, at: "authCode", processed: true, "exchange")
    try scene.daemon.restart()
    let after = try scene.again()
    let asked = try after.moved(flow, "wants an exchange") { $0.stepType == "exchangeCredential" }
    let link = try scene.redeem(asked.authCode)
    let page = try after.submit(GoPayScene.exchanged(token: link), to: asked)
    #expect(try after.handIn(page)["status"] == "succeeded")
    #expect(try scene.codeStates().filter { $0 == "redeemed" } == ["redeemed"])
  }

  @Test(
    "waitAck, by the backend: it is asked again with the same requestId, whether it had worked or not",
    arguments: [false, true])
  func backend(processed: Bool) throws {
    let scene = try GoPayScene(.backend)
    let flow = try held(scene, at: "exchange", processed: processed, "exchange")
    try scene.daemon.restart()
    let after = try scene.again()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.requests("exchange") == 2)
    #expect(try scene.codeStates() == ["redeemed"])
    #expect(try after.handIn(page)["status"] == "succeeded")
  }

  @Test("waitAck, by SNAP: a binding that did not arrive is made again, with the same code")
  func binding() throws {
    let scene = try GoPayScene(.snap)
    let flow = try held(scene, at: "binding", "exchange")
    try scene.daemon.restart()
    let after = try scene.again()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.requests("binding") == 2)
    #expect(try scene.codeStates() == ["redeemed"])
    #expect(try after.handIn(page)["status"] == "succeeded")
  }

  @Test("waitAck, by SNAP: one that did is not made twice; the conflict asks for another code")
  func bindingDone() throws {
    let scene = try GoPayScene(.snap)
    let flow = try held(scene, at: "binding", processed: true, "exchange")
    try scene.daemon.restart()
    let after = try scene.again()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.codeStates() == ["redeemed", "redeemed"])
    #expect(try scene.requests("binding") == 3)
    #expect(try after.handIn(page)["status"] == "succeeded")
    #expect(try after.app.call("account.list")["accounts"]?.arrayValue?.count == 1)
  }

  @Test("current: the submission is asked about again")
  func current() throws {
    let scene = try GoPayScene()
    let first = try scene.verified()
    let account: JSONValue = ["account": first["result"]?["account"] ?? .null]
    let flow = try held(scene, at: "currentSubmission", "none", more: account)
    try scene.daemon.restart()
    let after = try scene.again()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    let end = try after.handIn(page)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["account"] == first["result"]?["account"])
  }

  @Test(
    "kyc: before there is a page it is asked for again, in the same session",
    arguments: ["temporaryToken", "capture"])
  func beforePage(endpoint: String) throws {
    let scene = try GoPayScene()
    let flow = try held(scene, at: endpoint, processed: true, "none")
    try scene.daemon.restart()
    let after = try scene.again()
    let page = try after.moved(flow, "is at the capture page") { $0.completes == "poll" }
    #expect(try scene.submissions().count == 1)
    #expect(try after.handIn(page)["status"] == "succeeded")
  }

  @Test("kyc: the page stays, and what was handed in while the daemon was dead is found")
  func atPage() throws {
    let scene = try GoPayScene()
    let flow = try scene.atCapture()
    try scene.daemon.restart()
    #expect(try scene.again().flow(flow) == flow)
    scene.daemon.killAtOnce()
    try GoPayScene.photograph(at: flow.url)
    try scene.daemon.start()
    let end = try scene.again().app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.submissions().count == 1 && scene.requests("capture") == 1)
  }

  @Test("what has ended stays as it ended, with its account, token and verdict")
  func ended() throws {
    let scene = try GoPayScene()
    let failed = try scene.verify("none", token: "expired-token")
    let cancelled = try scene.cancel(scene.atCapture())
    let done = try scene.verified()
    #expect(try scene.decide(done.submissionID, "COMPLETED", "VALID", push: false) == [])
    #expect(try scene.push(done.submissionID) == [200])
    let token = try scene.app.call("token.get", ["provider": "gopay"])
    let account = try scene.account(of: done)
    try scene.daemon.restart()
    let after = try scene.again()
    for flow in [failed, cancelled, done] { #expect(try after.flow(flow) == flow) }
    #expect(try after.account(of: done) == account)
    #expect(account["attributes"]?["kyc"]?["result"] == "VALID")
    #expect(try after.app.call("token.get", ["provider": "gopay"]) == token)
  }
}

/// The daemon dies at every place where something is half done, and comes back.
@Suite("GoPay and a daemon that dies by itself", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct GoPayFailPointTests {
  @Test(
    "wherever it dies in a verification, nothing that was told is lost and nothing is doubled",
    arguments: ["store.before-commit", "store.after-commit", "flow.before-effects"])
  func verification(point: String) async throws {
    try await aside { try verifications(dyingAt: point) }
  }

  private func verifications(dyingAt point: String) throws {
    let scene = try GoPayScene()
    var deaths = 0
    for number in 1..<30 {
      let person = "corr-\(number)"
      let story = GoPayStory(scene, person: person, requestID: "req-\(number)")
      do {
        try scene.daemon.restart(environment: ["USHER_FAILPOINT": "\(point):\(number)"])
        _ = try story.run()
        try story.checkEnd()
        break
      } catch {
        guard try died(scene.daemon) else { throw TestTrouble("\(point):\(number): \(error)") }
      }
      deaths += 1
      try scene.daemon.start(environment: ["USHER_FAILPOINT": ""])
      do {
        _ = try story.run()
        try story.checkEnd()
      } catch {
        throw TestTrouble("\(point):\(number): \(error); told \(story.told?.text ?? "nothing")")
      }
    }
    // Started, code, exchanged, page, submitted: at least.
    #expect((4..<29).contains(deaths), "it died so often: \(deaths)")
  }

  /// A connection breaks a moment before the kernel tells of the death.
  private func died(_ daemon: DaemonUnderTest) throws -> Bool {
    guard let status = try? daemon.exitStatus(within: 30) else { return false }
    guard status == -SIGKILL else { throw TestTrouble("it ended otherwise: \(status)") }
    return true
  }
}

/// One verification as seen from outside, by a program and its backend, which outlive the daemon.
///
/// ``run()`` goes on from wherever things are.
private final class GoPayStory {
  private let scene: GoPayScene
  private let person: String
  private let requestID: String
  private(set) var told: JSONValue?
  /// What the backend got for each auth code that it was handed.
  private var links: [String: String] = [:]
  private var isPhotographed = false

  init(_ scene: GoPayScene, person: String, requestID: String) {
    self.scene = scene
    self.person = person
    self.requestID = requestID
  }

  func run() throws -> JSONValue {
    let scene = try scene.again()
    var flow = try begin(scene)
    for _ in 0..<20 {
      try hear(flow)
      guard flow["status"] == "active" else { return flow }
      if flow.stepType == "exchangeCredential" {
        let code = flow.authCode
        let link = try links[code] ?? scene.redeem(code)
        links[code] = link
        flow = try scene.submit(GoPayScene.exchanged(person, token: link), to: flow)
        continue
      }
      if flow.completes == "poll", !isPhotographed {
        try GoPayScene.photograph(at: flow.url)
        isPhotographed = true
      }
      let result = try scene.app.call(
        "flow.wait",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 8000,
        ])
      flow = try scene.app.flow(in: result)
    }
    throw TestTrouble("the flow does not end: \(flow.text)")
  }

  private func begin(_ scene: GoPayScene) throws -> JSONValue {
    let reply = try scene.app.reply(
      to: "flow.start", GoPayScene.start("exchange", "alice-short-term", person, requestID))
    if let flow = reply["result"]?["flow"] { return flow }
    guard reply["error"]?["data"]?["reason"] == "request_id_reused" else {
      throw TestTrouble("flow.start: \(reply.text)")
    }
    return try scene.app.flow(
      in: scene.app.call("flow.get", ["flow": reply["error"]?["data"]?["flow"] ?? .null]))
  }

  private func hear(_ flow: JSONValue) throws {
    if let told {
      let before = told["revision"]?.integerValue ?? 0
      let now = flow["revision"]?.integerValue ?? -1
      guard told["id"] == flow["id"], now >= before, now > before || told["state"] == flow["state"]
      else { throw TestTrouble("what was told is lost: \(told.text), now \(flow.text)") }
    }
    told = flow
  }

  func checkEnd() throws {
    guard let told, told["status"] == "succeeded" else {
      throw TestTrouble("not verified: \(told?.text ?? "nothing")")
    }
    // The backend has heard of one code only, and redeemed it once.
    guard links.count == 1, let link = links.values.first else {
      throw TestTrouble("\(links.count) codes were handed out")
    }
    let scene = try scene.again()
    let mine = try scene.submissions().filter { $0["partnerSessionId"] == .string(requestID) }
    guard mine.count == 1, mine[0]["submissionId"] == .string(told.submissionID) else {
      throw TestTrouble("submissions: \(mine)")
    }
    let accounts = try scene.app.call("account.list")["accounts"]?.arrayValue ?? []
    guard accounts.count(where: { $0["subject"] == .string(person) }) == 1 else {
      throw TestTrouble("accounts: \(accounts)")
    }
    let account = told["result"]?["account"] ?? .null
    let token = try scene.app.call("token.get", ["account": account])
    guard token["accessToken"] == .string(link) else { throw TestTrouble("another token") }
  }
}
