import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in each state of a sign-in: it is finished afterwards.
@Suite("BSA: a sign-in and kill -9", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct SignSurvivalTests {
  private func scene() throws -> BSAScene {
    let scene = try BSAScene()
    try scene.set(["authSeconds": 300])
    try scene.registered()
    return scene
  }

  private func expectSignedIn(_ scene: BSAScene, _ flow: JSONValue) throws {
    let end = try scene.app.finished(flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let token = try scene.token(of: end.account)["accessToken"]?.stringValue ?? ""
    #expect(try scene.owner(of: token) == "alice.01")
  }

  @Test("pending: the site that begins while the daemon is dead is found")
  func pending() throws {
    let scene = try scene()
    let flow = try scene.standing(scene.authenticate("push"), at: "pending")
    scene.daemon.killAtOnce()
    _ = try scene.visit()
    try scene.daemon.start()
    let after = try scene.again()
    try expectSignedIn(after, after.prove(after.asked(after.flow(flow))))
  }

  @Test("localAuth: the person is asked again, and what was proved before counts for nothing")
  func localAuth() throws {
    let scene = try scene()
    let (flow, visit) = try scene.pushed()
    let after = try scene.restarted()
    let asked = try after.asked(after.flow(flow))
    #expect(try after.atSite(visit)["state"] == "waiting")
    try expectSignedIn(after, after.prove(asked))
  }

  @Test(
    "starting, completing, the token: it is asked again, whether it had been done or not",
    arguments: ["auth", "authComplete", "authResult"], [false, true])
  func calls(endpoint: String, processed: Bool) throws {
    let scene = try scene()
    let (asked, visit) = try scene.pushed()
    let flow = try scene.holding(endpoint, processed: processed) {
      try scene.prove(asked, waitMs: 0)
    }
    let after = try scene.restarted()
    // The person has said yes to this site: it is not asked about again.
    try expectSignedIn(after, after.flow(flow))
    let seen = try after.atSite(visit)
    #expect(seen["state"] == "completed" && seen["collected"] == true, "\(seen.text)")
    #expect(try after.requests(endpoint) == 2)
    #expect(try after.list("signIns").count == 1 && after.requests("authCancel") == 0)
  }

  @Test("scan: the id is asked for still")
  func scan() throws {
    let scene = try scene()
    let flow = try scene.asked(scene.authenticate("qr"), for: "fillForm")
    let after = try scene.restarted()
    let visit = try after.visit("qr")
    let asked = try after.submit(
      ["type": "fillForm", "fields": ["qrId": .string(after.qrID(visit))]], to: flow)
    let again = try after.restarted()
    try expectSignedIn(again, again.prove(again.asked(again.flow(asked))))
  }

  @Test("generating: another number is asked for", arguments: [false, true])
  func generating(processed: Bool) throws {
    let scene = try scene()
    let asked = try scene.asked(scene.authenticate("otp"))
    let flow = try scene.holding("otpGenerate", processed: processed) {
      try scene.prove(asked, waitMs: 0)
    }
    let after = try scene.restarted()
    let shown = try after.asked(after.flow(flow), for: "displayCode")
    _ = try after.visit("otp", number: shown.shown)
    try expectSignedIn(after, after.approved(shown))
  }

  @Test("a number that is shown stays as it is", arguments: ["otp", "totp"])
  func shown(way: String) throws {
    let scene = try scene()
    try waitForRoom(25, inStepOf: 60)
    let asked = try scene.asked(scene.authenticate(way))
    let flow = try scene.asked(scene.prove(asked), for: "displayCode")
    let after = try scene.restarted()
    #expect(try after.flow(flow)["step"] == flow["step"])
    _ = try after.visit(way, number: flow.shown)
    try expectSignedIn(after, after.approved(flow))
  }

  @Test("another device: a number is not asked for again; the device is, after each restart")
  func device() throws {
    let old = try scene()
    let scene = try BSAScene(sandbox: old.sandbox)
    let params: JSONValue = [
      "userKey": "alice.01", "name": "Alice Adams", "verifyBy": "email",
      "verifyData": "alice@example.com",
    ]
    let sent = try scene.messages().count
    let begun = try scene.holding("sendOtp", processed: true) {
      try scene.begin("reregisterDevice", params)
    }
    var after = try scene.restarted()
    // How the person is registered stood in the answer that is lost: only another flow can tell.
    let unknown = try after.app.finished(begun)
    #expect(unknown.failure == ["provider_unreachable", nil, nil], "\(unknown.text)")
    #expect(unknown["failure"]?["retryable"] == false)
    #expect(try after.requests("sendOtp") == 1 && after.messages().count == sent + 1)
    let number = try after.asked(after.begin("reregisterDevice", params), for: "enterCode")
    after = try after.restarted()
    let asked = try after.asked(
      after.enter(after.number(to: "alice@example.com"), to: after.flow(number)))
    after = try after.restarted()
    let flow = try after.holding("device") {
      try after.prove(after.asked(after.flow(asked)), waitMs: 0)
    }
    after = try after.restarted()
    let end = try after.app.finished(after.flow(flow))
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try after.requests("sendOtp") == 2 && after.requests("device") == 2)
    #expect(try after.code(of: end.account).code == after.numberOfSecret())
  }

  @Test("what has ended stays as it ended, with its account, token and secret")
  func ended() throws {
    let scene = try scene()
    let cancelled = try scene.cancel(scene.authenticate("push"))
    let done = try scene.signedIn()
    let (token, account) = (try scene.token(of: done.account), try scene.account(done.account))
    let after = try scene.restarted()
    for flow in [cancelled, done] { #expect(try after.flow(flow) == flow) }
    #expect(try after.token(of: done.account) == token)
    #expect(try after.account(done.account) == account)
    #expect(try after.code().code == after.numberOfSecret())
  }
}

/// The daemon dies at every place where something is half done, and comes back.
@Suite("BSA and a daemon that dies by itself", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct SignFailPointTests {
  @Test(
    "wherever it dies in a sign-in, nothing that was told is lost and the person gets in",
    arguments: ["store.before-commit", "store.after-commit", "flow.before-effects"])
  func signIns(point: String) async throws {
    try await aside { try signIns(dyingAt: point) }
  }

  private func signIns(dyingAt point: String) throws {
    let scene = try BSAScene()
    try scene.set(["authSeconds": 300])
    try scene.registered()
    var deaths = 0
    for number in 1..<30 {
      let story = SignInStory(scene, requestID: "req-\(number)")
      do {
        try scene.daemon.restart(environment: ["USHER_FAILPOINT": "\(point):\(number)"])
        try story.run()
        break
      } catch {
        guard (try? scene.daemon.exitStatus(within: 30)) == -SIGKILL else {
          throw TestTrouble("\(point):\(number): \(error)")
        }
      }
      deaths += 1
      try scene.daemon.start(environment: [:])
      do {
        try story.run()
      } catch {
        throw TestTrouble("\(point):\(number): \(error); told \(story.told?.text ?? "nothing")")
      }
    }
    // Begun, waiting site, person, channel, completed, token: at least.
    #expect((5..<29).contains(deaths), "it died so often: \(deaths)")
  }
}

/// One sign-in as seen from outside, by a program and a person who outlive the daemon.
///
/// ``run()`` goes on from wherever things are.
private final class SignInStory {
  private let scene: BSAScene
  private let requestID: String
  private(set) var told: JSONValue?
  private var visit: String?

  init(_ scene: BSAScene, requestID: String) {
    self.scene = scene
    self.requestID = requestID
  }

  func run() throws {
    let scene = try scene.again()
    var flow = try begin(scene)
    for _ in 0..<40 {
      try hear(flow)
      guard flow["status"] == "active" else { return try check(scene, flow) }
      if visit == nil { visit = try scene.visit() }
      if flow.stepType == "localAuth" {
        flow = try scene.prove(flow, waitMs: 0)
        continue
      }
      flow = try scene.app.flow(
        in: scene.app.call(
          "flow.wait",
          [
            "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 4000,
          ]))
    }
    throw TestTrouble("the flow does not end: \(flow.text)")
  }

  private func begin(_ scene: BSAScene) throws -> JSONValue {
    let reply = try scene.app.reply(
      to: "flow.start",
      [
        "provider": "bsa", "kind": "authenticate", "params": ["by": "push"],
        "requestId": .string(requestID),
      ])
    if let flow = reply["result"]?["flow"] { return flow }
    guard reply["error"]?["data"]?["reason"] == "request_id_reused" else {
      throw TestTrouble("flow.start: \(reply.text)")
    }
    return try scene.flow(["id": reply["error"]?["data"]?["flow"] ?? .null])
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

  private func check(_ scene: BSAScene, _ flow: JSONValue) throws {
    guard flow["status"] == "succeeded" else { throw TestTrouble("not signed in: \(flow.text)") }
    let seen = try scene.atSite(visit ?? "")
    guard seen["state"] == "completed", seen["collected"] == true else {
      throw TestTrouble("at the site: \(seen.text)")
    }
    let token = try scene.token(of: flow.account)["accessToken"]?.stringValue ?? ""
    guard try scene.owner(of: token) == "alice.01" else { throw TestTrouble("another token") }
  }
}
