import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A consent that ends, for an open connection that has just been given the token again and again.
@Suite("Freedom ID: the next call for a token", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomNextRequestTests {
  private let fixture: FreedomFixture
  private let clients: [RawClient]

  init() throws {
    fixture = try FreedomFixture.partner()
    clients = try (0..<2).map { [daemon = fixture.daemon] _ in try daemon.client() }
    try fixture.signedIn(["read.firstname", "read.email"])
  }

  private static let call: JSONValue = ["provider": "freedom"]

  /// Each connection has been given it ten times.
  private func warm() throws {
    let token = try fixture.token()
    for _ in 1...10 {
      for client in clients { #expect(try client.call("token.get", Self.call) == token) }
    }
  }

  @Test("a consent that another connection took back opens nothing; given anew, it does")
  func revoked() throws {
    try warm()
    _ = try fixture.app.call("consent.revoke", ["provider": "freedom", "grant": "read.email"])
    for client in clients {
      #expect(try client.reason(of: "token.get", Self.call) == "consent_required")
    }
    try fixture.signedIn(["read.firstname", "read.email"])
    try warm()
    _ = try fixture.app.call("consent.revoke", ["provider": "freedom"])
    for client in clients {
      #expect(try client.reason(of: "token.get", Self.call) == "consent_required")
    }
  }

  @Test("what was granted to the user is not a client's, from the first call under its rule on")
  func anotherClient() throws {
    try warm()
    let config = try String(
      contentsOfFile: fixture.daemon.place.file("usherd.toml"), encoding: .utf8)
    try fixture.daemon.place.write(
      """
      \(config)
      [[client]]
      name = "till"
      match = { user = \(getuid()) }
      allow = ["*"]

      """, to: "usherd.toml")
    #expect(try fixture.daemon.admin().call("system.reload")["problems"] == [])
    for client in clients {
      #expect(try client.reason(of: "token.get", Self.call) == "consent_required")
    }
    try fixture.daemon.place.write(config, to: "usherd.toml")
    #expect(try fixture.daemon.admin().call("system.reload")["problems"] == [])
    try warm()
  }
}
