import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The flows that the documentation's page FreedomID lists for the partner API, by plain calls at
/// the socket.
@Suite(
  "Documented flows of Freedom ID's partner API", .mayBlock, .timeLimit(.minutes(10)))
struct PartnerFlowsTableTests {
  private let fixture: FreedomFixture

  init() throws { fixture = try FreedomFixture.partner() }

  @Test("provider.get lists all flows and params of Freedom ID in mode oauth2; others are refused")
  func kinds() throws {
    let provider = try fixture.app.call("provider.get", ["provider": "freedom"])
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
    try fixture.signedIn()
    for (kind, names) in params {
      for name in [names[0].uppercased(), "state", "apiKey", "codeChallenge"] {
        let error = try fixture.app.error(
          of: "flow.start",
          ["provider": "freedom", "kind": .string(kind), "params": [name: "x"]])
        #expect(error["code"] == -32602, "\(kind) \(name): \(error.text)")
      }
    }
  }

  @Test("authorize opens an expiring link and redeems its code; forceRefresh renews the token")
  func authorize() throws {
    let before = Int(Date().timeIntervalSince1970)
    let flow = try fixture.authorize(["read.firstname"])
    let step = try #require(flow["step"])
    #expect(step["type"] == "openURL" && step["completes"] == "loopback", "\(flow.text)")
    let url = try #require(step["url"]?.stringValue)
    let items = URLComponents(string: url)?.queryItems
    let until = items?.first { $0.name == "expire_at" }.flatMap { Int($0.value ?? "") }
    #expect((before + 600...Int(Date().timeIntervalSince1970) + 600).contains(until ?? 0))
    let back = try fixture.decide(at: url)
    let moved = try fixture.app.call(
      "flow.submit",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
        "input": ["type": "openURL", "redirectURL": .string(back)], "waitMs": 60_000,
      ], within: 120)["flow"]
    let end = try #require(moved)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(
      Set(end["result"]?.objectValue?.keys.map { $0 } ?? []) == ["account", "granted", "profile"])
    let token = try fixture.app.call(
      "token.get", ["account": end["result"]?["account"] ?? .null, "forceRefresh": true])
    #expect(token["tokenType"] == "Bearer")
    #expect(try fixture.requests("refresh") == 1)
  }
}
