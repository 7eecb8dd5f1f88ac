import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The end of a consent applies at once to open connections that have just received the token.
@Suite("Freedom ID's token.get after a consent has ended", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomNextRequestTests {
  private let fixture: FreedomFixture
  private let clients: [RawClient]

  init() throws {
    fixture = try FreedomFixture.partner()
    clients = try (0..<2).map { [daemon = fixture.daemon] _ in try daemon.client() }
    try fixture.signedIn(["read.firstname", "read.email"])
  }

  private static let call: JSONValue = ["provider": "freedom"]

  /// Gets the token ten times on each connection, so that replies may be cached.
  private func warm() throws {
    let token = try fixture.token()
    for _ in 1...10 {
      for client in clients { #expect(try client.call("token.get", Self.call) == token) }
    }
  }

  @Test("after consent.revoke at Freedom ID, other connections get no token until a new consent")
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

  @Test(
    "once a reload gives a program a client rule, its next call needs its own Freedom ID consent")
  func anotherClient() throws {
    try warm()
    let config = try String(
      contentsOfFile: fixture.daemon.place.file("usherd.toml"), encoding: .utf8)
    try fixture.daemon.reload(
      config: """
        \(config)
        [[client]]
        name = "till"
        match = { user = \(getuid()) }
        allow = ["*"]

        """)
    for client in clients {
      #expect(try client.reason(of: "token.get", Self.call) == "consent_required")
    }
    try fixture.daemon.reload(config: config)
    try warm()
  }
}
