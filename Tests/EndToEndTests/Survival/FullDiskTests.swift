import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Acknowledged changes are on disk; a redirect that arrives on a full disk waits until there is
/// room.
@Suite("A full disk", .mayBlock, .timeLimit(.minutes(10)), .ownProcess)
struct FullDiskTests {
  private let sandbox: SandboxUnderTest
  private let disk: SmallDisk
  private let daemon: DaemonUnderTest
  private let client: RawClient

  init() throws {
    sandbox = try SandboxUnderTest()
    let place = try TemporaryDirectory()
    disk = try SmallDisk(in: place)
    daemon = try DaemonUnderTest(
      config: sandbox.provider(), launcher: disk.launcher, at: place)
    client = try daemon.client()
  }

  @Test(
    "on a full disk flow.start fails and can be repeated, and token.get returns the cached token")
  func start() throws {
    try client.signIn()
    let token = try client.call("token.get", ["provider": "demo"])
    let flows = try client.call("flow.list")
    try disk.fill()
    let start: JSONValue = [
      "provider": "demo", "kind": "authorize", "params": [:], "requestId": "r-1", "waitMs": 50_000,
    ]
    for _ in 0..<3 {
      let error = try client.error(of: "flow.start", start)
      #expect(error["data"]?["reason"] == "storage_unavailable")
      #expect(error["message"] == "the database cannot grow: the disk is full")
    }
    #expect(try client.call("flow.list") == flows)
    #expect(try client.call("token.get", ["provider": "demo"]) == token)
    let credential: JSONValue = ["name": "a", "value": "b"]
    let admin = try daemon.admin()
    #expect(try admin.reason(of: "credential.set", credential) == "storage_unavailable")
    #expect(try admin.call("credential.list")["credentials"] == [])
    try disk.empty()
    // The refused calls have not used up the request id.
    let flow = try client.flow(in: client.call("flow.start", start))
    try daemon.restart()
    let again = try daemon.client()
    try Person.signIn(at: flow.page())
    #expect(try again.finished(flow)["status"] == "succeeded")
  }

  @Test(
    "on a full disk flow.submit and flow.cancel change nothing; flow.submit works when there is room"
  )
  func submit() throws {
    let flow = try client.startFlow()
    let back = try #require(try Person.decide(at: flow.page()).location)
    try disk.fill()
    let submit: JSONValue = [
      "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
      "input": ["type": "openURL", "redirectURL": .string(back)],
    ]
    let id: JSONValue = ["flow": flow["id"] ?? .null]
    #expect(try client.reason(of: "flow.submit", submit) == "storage_unavailable")
    #expect(try client.reason(of: "flow.cancel", id) == "storage_unavailable")
    #expect(try client.call("flow.get", id)["flow"] == flow)
    try disk.empty()
    _ = try client.call("flow.submit", submit)
    #expect(try client.finished(flow)["status"] == "succeeded")
    #expect(try sandbox.requests("token", grantType: "authorization_code") == 1)
  }

  @Test("a redirect that arrives on a full disk completes the sign-in as soon as there is room")
  func redirect() throws {
    let flow = try client.startFlow()
    let url = try flow.page()
    try disk.fill()
    let page = try Person.signIn(at: url)
    #expect(page.status == 200)
    // Meanwhile a change gets an error, and the flow is as on disk.
    let id: JSONValue = ["flow": flow["id"] ?? .null]
    #expect(try client.reason(of: "flow.cancel", id) == "storage_unavailable")
    #expect(try client.call("flow.get", id)["flow"] == flow)
    #expect(
      try sandbox.requests("token") == 0,
      "a code must not be redeemed before the transition is stored")
    try disk.empty()
    #expect(try client.finished(flow)["status"] == "succeeded")
    try daemon.restart()
    let token = try daemon.client().call("token.get", ["provider": "demo"])
    #expect(try sandbox.honours(try #require(token["accessToken"]?.stringValue)))
  }

  @Test(
    "on a full disk no refresh is sent; with room again one refresh succeeds and survives a restart"
  )
  func refresh() throws {
    try signInBriefly()
    try disk.fill()
    for _ in 0..<3 {
      #expect(try client.reason(of: "token.get", ["provider": "demo"]) == "storage_unavailable")
    }
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 0)
    try disk.empty()
    let token = try client.call("token.get", ["provider": "demo"])
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 1)
    #expect(try sandbox.honours(try #require(token["accessToken"]?.stringValue)))
    try daemon.restart()
    let again = try daemon.client()
    #expect(try again.call("token.get", ["provider": "demo"]) == token)
    let next = try again.call("token.get", ["provider": "demo", "forceRefresh": true])
    #expect(next["accessToken"] != token["accessToken"])
    #expect(try sandbox.honours(try #require(next["accessToken"]?.stringValue)))
  }

  @Test("a forced refresh on a full disk followed by kill -9 does not lose the grant")
  func deathOnFullDisk() throws {
    try client.signIn()
    try disk.fill()
    let force: JSONValue = ["provider": "demo", "forceRefresh": true]
    #expect(try client.reason(of: "token.get", force) == "storage_unavailable")
    daemon.killAtOnce()
    try disk.empty()
    try daemon.start()
    let token = try daemon.client().call("token.get", force)
    #expect(try sandbox.honours(try #require(token["accessToken"]?.stringValue)))
  }

  @Test("the tokens of a refresh that was sent before the disk filled up survive kill -9")
  func filledMeanwhile() throws {
    try signInBriefly()
    try sandbox.hold("token", times: 1)
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":{"provider":"demo"}}"#)
    try eventually("the refresh request has reached the provider") {
      try sandbox.requests("token", grantType: "refresh_token") == 1
    }
    try disk.fill()
    try sandbox.release()
    let reply = try #require(try client.receive())
    let token = try #require(reply["result"], "\(reply.text)")
    daemon.killAtOnce()
    try disk.empty()
    try daemon.start()
    #expect(try daemon.client().call("token.get", ["provider": "demo"]) == token)
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 1)
  }

  @Test(
    "a sign-in works after a refresh that the full disk prevented, and its token can be refreshed")
  func signInMeanwhile() throws {
    try signInBriefly()
    try disk.fill()
    #expect(try client.reason(of: "token.get", ["provider": "demo"]) == "storage_unavailable")
    try disk.empty()
    try client.signIn()
    let new = try client.call("token.get", ["provider": "demo"])
    let refreshed = try client.call("token.get", ["provider": "demo", "forceRefresh": true])
    #expect(refreshed["accessToken"] != new["accessToken"])
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 1)
    try daemon.restart()
    // The stored refresh token works after the restart, too.
    _ = try daemon.client().call("token.get", ["provider": "demo", "forceRefresh": true])
    #expect(try sandbox.requests("token", grantType: "refresh_token") == 2)
  }

  /// Signs in and waits until the access token has expired; later tokens live 300 seconds.
  private func signInBriefly() throws {
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 1])
    try client.signIn()
    try eventually("the first token has expired") {
      let tokens = try client.call("token.list")["tokens"]?.arrayValue
      return tokens?.first?["token"]?["status"] == "refreshable"
    }
    try sandbox.control("POST", "settings", ["accessTokenSeconds": 300])
  }
}
