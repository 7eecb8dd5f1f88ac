import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The partner API's calls beside our flows (the page FreedomID of the documentation), clause by
/// clause, by plain calls at the socket: each test's title is one clause.
@Suite(
  "Freedom ID's partner API, clause by clause", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerFlowsTableTests {
  private let scene: FreedomScene

  init() throws { scene = try FreedomScene.partner() }

  private func start(_ kind: String, _ params: JSONValue, _ waitMs: Int64 = 15_000) throws
    -> JSONValue
  {
    let reply = try scene.app.call(
      "flow.start",
      [
        "provider": "freedom", "kind": .string(kind), "params": params,
        "waitMs": .integer(waitMs),
      ])
    return try #require(reply["flow"])
  }

  private func end(_ flow: JSONValue) throws -> JSONValue {
    var flow = flow
    for _ in 0..<20 where flow["status"] == "active" {
      let reply = try scene.app.call(
        "flow.wait",
        ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 5000])
      flow = try #require(reply["flow"])
    }
    return flow
  }

  @Test("mode oauth2: the kinds are these, and their params are what provider.get says")
  func kinds() throws {
    let provider = try scene.app.call("provider.get", ["provider": "freedom"])
    let flows = (provider["provider"] ?? provider)["flows"]?.arrayValue ?? []
    let params = [
      "authorize": ["grants", "account"],
      "requestProfile": ["account", "freedomId", "phone", "grants"],
      "createUser": [
        "account", "phone", "email", "firstname", "lastname", "dateOfBirth", "identifier",
        "country", "gender", "nationality",
      ],
      "updateUser": ["freedomId", "phone", "email", "nationality"],
    ]
    #expect(Set(flows.compactMap { $0["kind"]?.stringValue }) == Set(params.keys))
    for flow in flows {
      for name in params[flow["kind"]?.stringValue ?? ""] ?? [] {
        #expect(flow.text.contains("\"\(name)\""), "\(name): \(flow.text)")
      }
    }
    try scene.signedIn()
    for (kind, names) in params {
      for name in [names[0].uppercased(), "state", "apiKey", "codeChallenge"] {
        let error = try scene.app.error(
          of: "flow.start",
          ["provider": "freedom", "kind": .string(kind), "params": [name: "x"]])
        #expect(error["code"] == -32602, "\(kind) \(name): \(error.text)")
      }
    }
  }

  @Test("authorize: a link with expiry, the token by a code, a renewal by PATCH")
  func authorize() throws {
    let flow = try start("authorize", ["grants": ["read.firstname"]])
    let step = try #require(flow["step"])
    #expect(step["type"] == "openURL" && step["completes"] == "loopback", "\(flow.text)")
    let url = try #require(step["url"]?.stringValue)
    let items = URLComponents(string: url)?.queryItems
    let until = items?.first { $0.name == "expire_at" }.flatMap { Double($0.value ?? "") }
    #expect((500...600).contains((until ?? 0) - Date().timeIntervalSince1970))
    let back = try scene.decide(at: url)
    let moved = try scene.app.call(
      "flow.submit",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
        "input": ["type": "openURL", "redirectURL": .string(back)], "waitMs": 15_000,
      ])["flow"]
    let end = try #require(moved)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      Set(end["result"]?.objectValue?.keys.map { $0 } ?? []) == ["account", "granted", "profile"])
    let token = try scene.app.call(
      "token.get", ["account": end["result"]?["account"] ?? .null, "forceRefresh": true])
    #expect(token["tokenType"] == "Bearer")
    #expect(try scene.requests("refresh") == 1)
  }

  @Test("no state and no PKCE are documented: the redirect URI has a random path of 128 bits")
  func path() throws {
    let uris = try (0..<3).map { _ in
      try start("authorize", ["grants": ["read.firstname"]])["step"]?["redirectURI"]?.stringValue
        ?? ""
    }
    #expect(uris.allSatisfy { $0.contains(/\/[0-9a-f]{32}$/) }, "\(uris)")
    #expect(Set(uris).count == 3)
  }

  @Test("requestProfile {freedomId or phone}: the status is polled")
  func requestProfile() throws {
    try scene.signedIn(["read.profile"])
    let flow = try start(
      "requestProfile", ["phone": "+447700900456", "grants": ["read.firstname"]], 0)
    #expect(flow["status"] == "active" && flow["step"]?["type"] == "wait", "\(flow.text)")
    try eventually("it is polled") { try scene.requests("status") >= 2 }
    let request = try #require(try scene.list("requests").first)
    try scene.sandbox.control(
      "POST", "freedomid/requests/\(request["requestId"]?.stringValue ?? "")",
      ["status": "accepted"])
    let end = try end(flow)
    #expect(
      Set(end["result"]?.objectValue?.keys.map { $0 } ?? [])
        == ["requestId", "freedomId", "granted", "profile"], "\(end.text)")
  }

  @Test("createUser, updateUser: the person's id at Freedom")
  func users() throws {
    try scene.signedIn()
    let made = try start("createUser", ["phone": "+77015550001"])
    let id = try #require(made["result"]?["freedomId"], "\(made.text)")
    let changed = try start("updateUser", ["freedomId": id, "firstname": "A"])
    #expect(changed["result"] == ["freedomId": id], "\(changed.text)")
  }

  @Test("a requestId that was used is refused, so that no user is created twice")
  func requestID() throws {
    try scene.signedIn()
    let params: JSONValue = [
      "provider": "freedom", "kind": "createUser", "requestId": "create-1",
      "params": ["phone": "+77015550001"], "waitMs": 15_000,
    ]
    let flow = try scene.app.call("flow.start", params)["flow"]
    #expect(flow?["status"] == "succeeded")
    let error = try scene.app.error(of: "flow.start", params)
    #expect(error.reason == "request_id_reused" && error["data"]?["flow"] == flow?["id"])
    #expect(try scene.requests("createUser") == 1)
  }

  @Test("read.data_of_birth and read.date_of_birth are one grant")
  func alias() throws {
    let flow = try start(
      "authorize", ["grants": ["read.date_of_birth", "read.data_of_birth"]])
    try scene.visit(flow)
    #expect(try end(flow)["result"]?["granted"] == ["read.data_of_birth"])
  }
}
