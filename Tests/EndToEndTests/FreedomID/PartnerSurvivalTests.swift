import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// `kill -9` in each state of the partner API's flows: each goes on, and nothing is done twice.
@Suite(
  "Freedom ID's partner API and kill -9", .mayBlock, .ownProcess,
  .timeLimit(.minutes(10)))
struct PartnerSurvivalTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.partner() }

  /// Lets the next answer hang, until the daemon is killed and started again.
  ///
  /// - Parameters:
  ///   - processed: Whether the provider has done what it was asked for.
  ///   - begin: Leads to the request.
  private func killed<Value>(
    at endpoint: String, processed: Bool = true, _ begin: () throws -> Value
  ) throws -> (FreedomScene, Value) {
    try scene.spoil(endpoint, ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let before = try scene.requests(endpoint)
    let begun = try begin()
    try eventually("it is under way") { try scene.requests(endpoint) == before + 1 }
    return (try scene.restarted(), begun)
  }

  @Test("preparing: another link, at another path; the flow ends well", arguments: [false, true])
  func preparing(processed: Bool) throws {
    let (after, begun) = try killed(at: "link", processed: processed) {
      try scene.start(["read.firstname"])
    }
    let flow = try after.moved(begun, "has a page") { $0.stepType == "openURL" }
    #expect(try scene.requests("link") == 2)
    try after.visit(flow)
    #expect(try after.app.finished(flow).profile == ["firstname": "Alice"])
  }

  @Test("browser: the page that is open in the browser still completes the log-in")
  func browser() throws {
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    let after = try scene.restarted()
    #expect(try after.flow(flow) == flow)
    try eventually("it listens again") { (try? Web.get(back).status) == 200 }
    #expect(try after.app.finished(flow)["status"] == "succeeded")
    #expect(try scene.requests("link") == 1)
  }

  @Test("browser, and the link is over meanwhile: a new one, with the same redirect URI")
  func linkOver() throws {
    // Long before the flow's own time is over, which would be the end of it.
    try scene.set(["linkSeconds": 100])
    let flow = try scene.authorize(["read.firstname"])
    try scene.set(["linkSeconds": 3600])
    try scene.restart(ahead: 150)
    let after = try scene.again()
    let renewed = try after.anotherPage(than: flow)
    #expect(renewed.redirectURI == flow.redirectURI)
    try after.visit(renewed)
    #expect(try after.app.finished(renewed)["status"] == "succeeded")
  }

  @Test("browser, and somebody has taken the port: a new page at another path, with interrupted")
  func portTaken() throws {
    let flow = try scene.authorize(["read.firstname"])
    let port = try #require(URLComponents(string: flow.redirectURI)?.port)
    scene.daemon.killAtOnce()
    let taken = try TakenPort(UInt16(port))
    try scene.daemon.start()
    let after = try scene.again()
    let renewed = try after.anotherPage(than: flow)
    #expect(renewed.problem == "interrupted", "\(renewed.text)")
    #expect(renewed.redirectURI.suffix(32) != flow.redirectURI.suffix(32))
    try after.visit(renewed)
    #expect(try after.app.finished(renewed)["status"] == "succeeded")
    withExtendedLifetime(taken) {}
  }

  @Test(
    "exchanging: the code may be spent, so the person is sent there again, with interrupted",
    arguments: [false, true])
  func exchanging(processed: Bool) throws {
    let flow = try scene.authorize(["read.firstname"])
    let back = try scene.decide(at: flow.url)
    let (after, _) = try killed(at: "token", processed: processed) { try Web.get(back) }
    let again = try after.anotherPage(than: flow)
    #expect(again.problem == "interrupted" && again.redirectURI != flow.redirectURI)
    try after.visit(again)
    let end = try after.app.finished(again)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(try scene.requests("token") == 2)
    #expect(try after.accounts().count == 1)
  }

  @Test("completion: the data is read again, and nobody is asked", arguments: [false, true])
  func completion(processed: Bool) throws {
    let flow = try scene.authorize(["read.firstname"])
    let (after, _) = try killed(at: "user", processed: processed) { try scene.visit(flow) }
    let end = try after.app.finished(flow)
    #expect(end.profile == ["firstname": "Alice"], "\(end.text)")
    #expect(try scene.requests("token") == 1 && scene.requests("link") == 1)
    #expect(try after.consents().map { $0["grant"] } == ["read.firstname"])
  }

  @Test("account, token and consents outlive the daemon")
  func afterwards() throws {
    let end = try scene.signedIn()
    let (token, account) = (try scene.token(), try scene.account(end.account))
    let after = try scene.restarted()
    #expect(try after.token() == token)
    #expect(try after.account(end.account) == account)
    #expect(try scene.requests("refresh") == 0)
  }

  // MARK: Somebody else's profile

  private var toBob: JSONValue {
    ["phone": "+447700900456", "grants": ["read.firstname"]]
  }

  @Test(
    "a requested profile, in both states: it is one request at the provider",
    arguments: ["profile", "status"])
  func requested(endpoint: String) throws {
    try scene.signedIn(["read.profile"])
    let (after, flow) = try killed(at: endpoint) {
      try scene.perform("requestProfile", toBob, waitMs: 0)
    }
    let request = try #require(try scene.list("requests").first)
    try scene.sandbox.control(
      "POST", "freedomid/requests/\(request["requestId"]?.stringValue ?? "")",
      ["status": "accepted"])
    let end = try after.app.finished(flow)
    #expect(end.profile == ["firstname": "Bob"], "\(end.text)")
    #expect(end["result"]?["requestId"] == request["requestId"])
    #expect(try scene.list("requests").count == 1)
  }

  @Test("a requested profile, between two questions: it is waited for on")
  func pending() throws {
    try scene.signedIn(["read.profile"])
    let flow = try scene.perform("requestProfile", toBob, waitMs: 0)
    let waiting = try scene.moved(flow, "waits") { $0.state == "pending" }
    let after = try scene.restarted()
    #expect(try after.flow(waiting) == waiting)
    let request = try #require(try scene.list("requests").first)
    try scene.sandbox.control(
      "POST", "freedomid/requests/\(request["requestId"]?.stringValue ?? "")",
      ["status": "accepted"])
    #expect(try after.app.finished(flow).profile == ["firstname": "Bob"])
  }

  // MARK: Users

  @Test(
    "a user who may have been created: the flow has failed, says so, and asks no second time",
    arguments: [false, true])
  func creating(processed: Bool) throws {
    try scene.signedIn()
    let people = try scene.list("people").count
    let (after, flow) = try killed(at: "createUser", processed: processed) {
      try scene.perform("createUser", ["phone": "+77015550001"], waitMs: 0)
    }
    let end = try after.app.finished(flow)
    #expect(end.failure == ["provider_unreachable", "networkError.streamError", nil])
    #expect(end["failure"]?["message"]?.stringValue?.contains("not known") == true, "\(end.text)")
    #expect(end["failure"]?["retryable"] == false)
    #expect(try scene.requests("createUser") == 1)
    #expect(try scene.list("people").count == people + (processed ? 1 : 0))
  }

  @Test("a user who may have been changed: likewise")
  func updating() throws {
    try scene.signedIn()
    let id = try scene.person("bob")["id"] ?? .null
    let (after, flow) = try killed(at: "updateUser") {
      try scene.perform("updateUser", ["freedomId": id, "firstname": "Robert"], waitMs: 0)
    }
    let end = try after.app.finished(flow)
    #expect(end.failure[0] == "provider_unreachable", "\(end.text)")
    #expect(try scene.requests("updateUser") == 1)
  }
}
