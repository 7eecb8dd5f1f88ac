import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Programs that try to be identified as another caller.
@Suite(
  "Attacks on the identity of callers", .mayBlock, .ownProcess,
  .timeLimit(.minutes(10)))
struct IdentityAttackTests {
  private static let nobody = [
    "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
  ]

  @Test("a process that ends before it is accepted does not escape a rule by unit")
  func escape() throws {
    let daemon = try DaemonUnderTest(
      config: """
        [[client]]
        name = "till"
        match = { unit = "till.service", user = "\(getuid())" }
        allow = ["account.list"]
        """)
    try AttackScript("escape.py").expectRefused(daemon.socketPath, "\(daemon.pid)")
    // The rule is for other callers: this test's own process is in no such unit.
    _ = try daemon.client().call("flow.list")
  }

  @Test(
    "a process that leaves its groups does not escape a rule by group",
    .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can leave groups"))
  func groups() throws {
    // According to the user database, root is in group root.
    let daemon = try DaemonUnderTest(
      config: """
        [[client]]
        name = "clerks"
        match = { group = "root" }
        allow = ["account.list"]
        """)
    try AttackScript("drop_groups.py").expectRefused(
      daemon.socketPath,
      launcher: ["/usr/bin/setpriv", "--regid=65534", "--groups=0"])
  }

  @Test(
    "a new user with the uid of a removed user gets nothing that was stored for the removed user",
    .enabled(if: OtherUser.isPossible, "NOT TESTED: only root has a user database of its own"))
  func reusedUID() throws {
    let place = try TemporaryDirectory()
    let passwd = place.file("passwd")
    func give(to user: String) throws {
      try place.write(
        "root:x:0:0::/root:/bin/sh\n\(user):x:5123:5123::/nonexistent:/bin/sh\n", to: "passwd")
    }
    try give(to: "anna")
    let daemon = try DaemonUnderTest(
      config: """
        [[client]]
        name = "person"
        match = { user = "5123" }
        allow = ["*"]
        """,
      launcher: [
        "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
        "mount --bind '\(passwd)' /etc/passwd && exec \"$@\"", "sh",
      ])
    try AttackScript("reused_uid.py").expectRefused(daemon.socketPath, "anna")
    try give(to: "ben")
    // The daemon caches a user name for ten seconds; a new process has no cache.
    try daemon.restart()
    try AttackScript("reused_uid.py").expectRefused(daemon.socketPath, "ben")
    let owners = try daemon.admin().call("owner.list")["owners"]?.arrayValue ?? []
    let owner = owners.first { $0["uid"] == 5123 }
    #expect(owner?["user"] == "anna" && owner?["now"] == "ben", "\(owners)")
  }

  @Test(
    "another user at an admin socket that has the mode 666 is refused with an error message",
    .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can be another user"))
  func admin() throws {
    let daemon = try DaemonUnderTest(config: "")
    try #require(chmod(daemon.adminSocketPath, 0o666) == 0)
    try AttackScript("admin_socket.py").expectRefused(
      daemon.adminSocketPath, launcher: Self.nobody)
    _ = try daemon.admin().call("credential.list")
  }
}
