import Foundation
import Glibc
import Testing
import UsherConfig
import UsherCore
import UsherSystem
import UsherTestKit

@testable import UsherDaemon

/// A connection whose process ended before the daemon looked: unit and program cannot be told.
@Suite("A caller whose process cannot be told", .mayBlock)
struct LostCallerTests {
  /// Makes a connection that a process has left to another one, and looks at who made it.
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
    // Whoever keeps the connection ends when its other end is closed.
    try eventually("the connection is kept") {
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

  @Test("it has no right where a rule that restricts it by unit or program could match")
  func restricted() throws {
    let user = Principal.id(getuid())
    for match in [
      ClientMatch(unit: "till.service"), ClientMatch(unit: "till.service", user: user),
      ClientMatch(user: user, executable: "/usr/bin/till"),
    ] {
      #expect(try decide(match, daemonUser: getuid()) == .deny(rule: "(no rule)"), "\(match)")
    }
  }

  @Test("it has its user's rights where no such rule could match")
  func unrestricted() throws {
    for match in [
      ClientMatch(unit: "till.service", user: .id(getuid() + 1)), ClientMatch(user: .id(4711)),
    ] {
      #expect(try decide(match, daemonUser: getuid()).isAllowed, "\(match)")
    }
  }
}
