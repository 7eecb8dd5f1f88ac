import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "a daemon that dies or hangs, under systemd", .mayBlock, .serialized, .whereSystemsBoot,
  .ownSystem(),
  .timeLimit(.minutes(10)))
struct DeathTests {
  enum End: String, CaseIterable, CustomTestStringConvertible {
    case crash = "a crash"
    case abort = "an abort"
    case kill = "SIGKILL"
    case stop = "SIGSTOP"
    case hang = "its serving loop hangs"

    var testDescription: String { rawValue }
    fileprivate var isWatchdogs: Bool { self == .stop || self == .hang }
  }

  @Test(
    "systemd starts it again; who calls meanwhile is answered, and what it kept is there",
    arguments: End.allCases)
  func startedAgain(_ end: End) throws {
    let scene = try ServiceScene.here()
    // More than a machine that does other things needs between two pings, or to stop a thread.
    try scene.override("WatchdogSec=10s\nStartLimitBurst=100")
    let client = try scene.client()
    if try client.call("account.list")["accounts"]?.arrayValue?.isEmpty == true {
      try scene.signIn(client)
      // The first one was started under the package's watchdog.
      try scene.system.run("systemctl", "restart", "usherd.service")
    }
    let token = try scene.token(scene.client())
    let socket = try scene.identity(of: ServiceScene.socket)
    let (restarts, timeouts) = (try scene.property("NRestarts"), timeouts(scene))
    let queued = try scene.startedAgain { try bring(end, scene) }
    #expect(try queued.receive(within: 60)?["result"]?["ready"] == true)
    #expect(try scene.property("NRestarts") == "\((Int(restarts) ?? 0) + 1)")
    #expect(self.timeouts(scene) == timeouts + (end.isWatchdogs ? 1 : 0))
    #expect(try scene.identity(of: ServiceScene.socket) == socket, "the socket stayed open")
    #expect(try scene.token(scene.client()) == token)
  }

  private func bring(_ end: End, _ scene: ServiceScene) throws {
    switch end {
    case .crash: try scene.kill(by: "SEGV")
    case .abort: try scene.kill(by: "ABRT")
    case .kill: try scene.kill(by: "KILL")
    case .stop: try scene.freeze()
    case .hang:
      let client = try scene.client()
      _ = try client.call("system.status")
      try scene.system.run(
        "systemd-run", "--quiet", "--unit=holder.service",
        "/usr/bin/python3", ServiceScene.tools + "stop_thread.py", scene.process(),
        "usherd-sockets")
      try eventually("the thread is stopped: \(scene.system.journal(of: "holder.service"))") {
        scene.system.journal(of: "holder.service").contains("stopped")
      }
      try client.send(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#)
      #expect(throws: (any Error).self) { try client.receive(within: 0.3) }
    }
  }

  /// How often systemd found that it does not ping.
  private func timeouts(_ scene: ServiceScene) -> Int {
    scene.journal.components(separatedBy: "Watchdog timeout").count - 1
  }
}
