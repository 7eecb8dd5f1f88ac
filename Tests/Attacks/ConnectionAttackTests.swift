import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Attacks by many connections, long batches and many users", .mayBlock, .ownProcess, .serialized,
  .timeLimit(.minutes(10)))
struct ConnectionAttackTests {
  /// A provider with configured endpoints and no server: a sign-in stays at the browser step.
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
    "200 connections neither end a usherd with 128 descriptors nor block its admin socket")
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

  @Test("unread_reply_bytes limits the memory for the replies of waiting batches")
  func batches() throws {
    let daemon = try DaemonUnderTest(config: Self.silent)
    let flow = try daemon.client().startFlow("silent")
    let id = try #require(flow["id"]?.stringValue)
    try AttackScript("batches.py").expectRefused(daemon.socketPath, "\(daemon.pid)", id, "4", "8")
  }

  @Test("usherd refuses a process with 65,535 groups", .enabled(if: isRoot, needsRoot))
  func groups() throws {
    let daemon = try DaemonUnderTest(config: "")
    try AttackScript("groups.py").expectRefused(daemon.socketPath)
  }
}
