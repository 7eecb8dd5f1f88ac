import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Attacks by many connections, long batches and many users", .mayBlock, .ownProcess, .serialized,
  .timeLimit(.minutes(10)))
struct ConnectionAttackTests {
  /// A provider whose sign-in stays at the browser's step, without a server anywhere.
  private static let silent = """
    [[provider]]
    name = "silent"
    type = "oidc"
    issuer = "http://127.0.0.1:1/oidc"
    client_id = "usher"

    [provider.endpoints]
    authorization = "http://127.0.0.1:1/authorize"
    token = "http://127.0.0.1:1/token"
    jwks = "http://127.0.0.1:1/jwks"

    """

  private static let isRoot = getuid() == 0
  private static let needsRoot: Comment = "SKIPPED, NOT PROVEN: only root can call as other users"

  @Test(
    "many connections neither end a daemon that has few descriptors nor keep its administrator out")
  func descriptors() throws {
    let daemon = try DaemonUnderTest(
      config: Self.silent, launcher: ["/usr/bin/prlimit", "--nofile=128:128"])
    let flow = try daemon.client().startFlow("silent")
    let page = try #require(flow["step"]?["redirectURI"]?.stringValue)
    let port = try #require(URLComponents(string: page)?.port)
    try AttackScript("descriptors.py")
      .expectRefused(daemon.socketPath, daemon.adminSocketPath, "\(port)", "200")
    #expect(daemon.isRunning, "\(daemon.log.suffix(500))")
  }

  @Test("the replies of batches that wait are bounded by unread_reply_bytes")
  func batches() throws {
    let daemon = try DaemonUnderTest(config: Self.silent)
    let flow = try daemon.client().startFlow("silent")
    let id = try #require(flow["id"]?.stringValue)
    try AttackScript("batches.py").expectRefused(daemon.socketPath, "\(daemon.pid)", id, "4", "8")
  }

  @Test("a process with 65,535 groups is refused", .enabled(if: isRoot, needsRoot))
  func groups() throws {
    let daemon = try DaemonUnderTest(config: "")
    try AttackScript("groups.py").expectRefused(daemon.socketPath)
  }
}
