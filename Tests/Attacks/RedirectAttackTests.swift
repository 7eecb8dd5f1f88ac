import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Attacks of another user of the machine on the redirect of a sign-in.
@Suite(
  "Attacks on the redirect of a sign-in", .mayBlock,
  .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can be two users; run this as root"))
struct RedirectAttackTests {
  private let sandbox: SandboxUnderTest

  init() throws { sandbox = try SandboxUnderTest() }

  private func daemon(_ providers: String) throws -> DaemonUnderTest {
    try DaemonUnderTest(config: "[access]\ngroup = \"4242\"\n\n" + providers)
  }

  @Test(
    "a user who takes the redirect port of a provider without PKCE gets no other user's account")
  func squattedPort() throws {
    let port = try LoopbackPort.unused()
    let daemon = try daemon(
      """
      [[provider]]
      name = "freedom"
      type = "freedomid"
      mode = "oauth2"
      base_url = "\(sandbox.base)/freedomid"
      api_base_url = "\(sandbox.base)/freedomid"
      client_id = "acme"
      client_credential = "freedom-secret"
      redirect = "http://127.0.0.1:\(port)/callback"
      """)
    let set = try daemon.usherctl(
      ["credential", "set", "freedom-secret"], input: "s3cret:freedom/client+=")
    try #require(set.status == 0, "\(set.errors)")
    try AttackScript("squat_redirect_port.py").expectRefused(
      daemon.socketPath, "\(port)", "\(sandbox.base)/freedomid")
    #expect(daemon.log.contains("another user's program uses the redirect port"))
  }

  @Test(
    "a flow with PKCE continues if another user holds the redirect port, and names that user's uid")
  func squattedPortWithPKCE() throws {
    let port = try LoopbackPort.unused()
    let squatter = try HeldPort(port, uid: 4002)
    let daemon = try daemon(
      sandbox.provider(more: "redirect = \"http://127.0.0.1:\(port)/callback\""))
    let user = try OtherUser(4001, groups: "4242", at: daemon)
    let flow = try user.client().startFlow()
    #expect(flow["step"]?["completes"] == "submit", "\(flow)")
    #expect(flow["problem"]?["reason"] == "no_listener", "\(flow)")
    #expect(flow["problem"]?["message"]?.stringValue?.contains("4002") == true, "\(flow)")
    withExtendedLifetime((squatter, user)) {}
  }
}

/// A loopback port at which another user listens as long as this object lives.
private final class HeldPort {
  private let place: TemporaryDirectory
  private let program: RunningProgram

  init(_ port: Int, uid: UInt32) throws {
    place = try TemporaryDirectory()
    let listen = """
      import socket, time
      s = socket.socket()
      s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
      s.bind(("127.0.0.1", \(port)))
      s.listen()
      print("held", flush=True)
      time.sleep(3600)
      """
    program = try RunningProgram(
      "/usr/bin/setpriv",
      ["--reuid=\(uid)", "--regid=\(uid)", "--clear-groups", "/usr/bin/python3", "-c", listen],
      log: place.file("log"))
    try eventually("the port is held: \(program.log)") { [program] in
      program.log.contains("held")
    }
  }
}
