import Foundation
import Glibc
import Testing
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// The process of the connection ended before the daemon read it, so that its unit and executable
/// are unknown.
@Suite("Callers whose process has ended", .mayBlock)
struct LostCallerTests {
  /// Makes a connection, passes it to another process, ends its creator and reads the peer.
  private func lostPeer() throws -> Peer {
    let place = try TemporaryDirectory()
    let listener = try UnixListener.bind(path: place.file("u.sock"), mode: 0o600)
    defer { close(listener) }
    let left = try run(
      "/usr/bin/python3",
      [TestScript.asUser, "leave", place.file("left.sock"), place.file("u.sock")])
    try #require(left.status == 0, "\(left.errors)")
    let connection = accept(listener, nil, nil)
    try #require(connection >= 0)
    defer { close(connection) }
    let peer = try Peer.read(fd: connection)
    // The process that keeps the connection exits when the other end is closed.
    try eventually("the other process holds the connection") {
      (try? RawClient(place.file("left.sock"))) != nil
    }
    return peer
  }

  private func decide(_ match: ClientMatch, daemonUser: UInt32) throws -> Decision {
    let rule = ClientRule(
      name: "till", match: match, allow: [try AccessPattern(setting: "system.status")])
    let policy = try Policy.of([rule], daemonUser: daemonUser, group: getegid())
    let connectingPeer = PeerIdentity(
      try lostPeer(), isAdmin: false, realm: "host", connectedAt: nil)
    return Caller(connectingPeer, policy: policy).decide(PolicyRequest(method: "account.list"))
  }

  @Test("an ended process has no rights if a rule by unit or executable could match it")
  func restricted() throws {
    let user = Principal.id(getuid())
    for match in [
      ClientMatch(unit: "till.service"), ClientMatch(unit: "till.service", user: user),
      ClientMatch(user: user, executable: "/usr/bin/till"),
    ] {
      #expect(try decide(match, daemonUser: getuid()) == .deny(rule: "(no rule)"), "\(match)")
    }
  }

  @Test("an ended process has its user's rights if no rule by unit or executable could match it")
  func unrestricted() throws {
    for match in [
      ClientMatch(unit: "till.service", user: .id(getuid() + 1)), ClientMatch(user: .id(4711)),
    ] {
      #expect(try decide(match, daemonUser: getuid()).isAllowed, "\(match)")
    }
  }
}
