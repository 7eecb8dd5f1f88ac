import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Starts and stops the daemon as systemd, or a user at a terminal, does.
@Suite("Starting and stopping usherd", .mayBlock, .timeLimit(.minutes(10)))
struct LifeTests {
  @Test(
    "stopping usherd answers flow.wait, exits with 0, and the next start continues the flow"
  )
  func terminate() throws {
    let sandbox = try SandboxUnderTest()
    let daemon = try DaemonUnderTest(config: sandbox.provider())
    let client = try daemon.client()
    let flow = try client.startFlow()
    let idle = try daemon.client()
    try client.send(
      #"{"jsonrpc":"2.0","id":"w","method":"flow.wait","params":{"flow":\#(flow["id"]?.text ?? ""),"#
        + #""revision":\#(flow["revision"]?.text ?? ""),"timeoutMs":60000}}"#)
    // The later call is answered, so the earlier one is waiting.
    _ = try client.call("system.status")
    #expect(try daemon.stop() == 0)
    let answer = try #require(try client.receive())
    #expect(answer["id"] == "w")
    #expect(answer["result"]?["flow"]?["revision"] == flow["revision"])
    #expect(try client.receive() == nil)
    #expect(try idle.receive() == nil)
    for path in [daemon.socketPath, daemon.adminSocketPath] {
      #expect(!FileManager.default.fileExists(atPath: path), "\(path) still exists after the stop")
    }
    try daemon.start()
    try daemon.comeBack(to: try #require(try Person.decide(at: flow.page()).location))
    #expect(try daemon.client().finished(flow)["status"] == "succeeded")
  }

  @Test(
    "a usherd that cannot start exits with 1, tells systemd the reason and does not report READY")
  func notReady() throws {
    let place = try TemporaryDirectory()
    let systemd = try NotifySocket(place.file("notify"))
    let state = place.file("state")
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
    try place.write("no database", to: "state/usherd.db")
    try place.write("", to: "usherd.toml")
    let refused = try run(
      BuiltProduct.path("usherd"),
      [
        "--config", place.file("usherd.toml"), "--state", state, "--socket", place.file("u"),
        "--admin-socket", place.file("a"),
      ], environment: ["NOTIFY_SOCKET": place.file("notify")])
    #expect(refused.status == 1)
    #expect(refused.errors.split(separator: "\n").last?.hasPrefix("usherd: ") == true)
    let messages = systemd.messages
    #expect(messages.contains { $0.hasPrefix("STATUS=the database has no master key") })
    #expect(messages.allSatisfy { !$0.contains("READY=1") })
  }

  @Test("usherd identifies the sockets that systemd passes by name, and leaves them when it stops")
  func activation() throws {
    let place = try TemporaryDirectory()
    let systemd = try NotifySocket(place.file("notify"))
    let program = try activate(place, names: "usherd-admin.sock:usherd.sock")
    // The first connection starts the daemon.
    let client = try RawClient.waiting(for: place.file("u"))
    #expect(try client.call("system.status")["ready"] == true)
    #expect(try client.reason(of: "credential.list") == "method_not_found")
    #expect(try RawClient(place.file("a")).call("credential.list")["credentials"] == [])
    try systemd.message(with: "READY=1")
    #expect(try program.stop() == 0, "\(program.log)")
    try systemd.message(with: "STOPPING=1")
    #expect(FileManager.default.fileExists(atPath: place.file("u")))
    #expect(FileManager.default.fileExists(atPath: place.file("a")))
  }

  @Test("usherd exits with 1 if systemd passes a socket of an unknown name, and logs that name")
  func wrongName() throws {
    let place = try TemporaryDirectory()
    let program = try activate(place, names: "usherd-admin.sock:usherd.socket")
    let client = try RawClient.waiting(for: place.file("u"))
    #expect(try program.exitStatus() == 1)
    #expect(program.log.contains("systemd passed a socket named usherd.socket"))
    withExtendedLifetime(client) {}
  }

  /// Starts `systemd-socket-activate`, which becomes the daemon at the first connection. The admin
  /// socket is passed first.
  private func activate(_ place: TemporaryDirectory, names: String) throws -> RunningProgram {
    try place.write("", to: "usherd.toml")
    return try RunningProgram(
      "/usr/bin/systemd-socket-activate",
      [
        "--fdname=\(names)", "-l", place.file("a"), "-l", place.file("u"), "-E",
        "NOTIFY_SOCKET=\(place.file("notify"))", BuiltProduct.path("usherd"), "--config",
        place.file("usherd.toml"), "--state", place.file("state"),
      ], log: place.file("log"))
  }
}
