import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Attacks on a grant that programs share", .mayBlock,
  .timeLimit(.minutes(10)))
struct TokenAttackTests {
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest

  init() throws {
    sandbox = try SandboxUnderTest()
    daemon = try DaemonUnderTest(config: sandbox.provider())
  }

  @Test("a program's call for a narrower scope does not narrow the token that another program gets")
  func narrowScope() throws {
    try sandbox.control("POST", "settings", ["bindRefreshScope": true])
    try daemon.client().signIn()
    try AttackScript("narrow_scope.py").expectRefused(daemon.socketPath, "demo")
  }

  @Test("no call returns a token of a grant that the provider has revoked")
  func deadGrant() throws {
    try daemon.client().signIn()
    try sandbox.control("POST", "revokeAll")
    try AttackScript("dead_grant.py").expectRefused(daemon.socketPath, "demo")
  }
}
