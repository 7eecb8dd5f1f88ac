import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Deaths and hangs of usherd under systemd", .mayBlock, .serialized, .whereSystemsBoot,
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
    "systemd restarts a dead or hanging usherd, a call made meanwhile is answered, and tokens are kept",
    arguments: End.allCases)
  func startedAgain(_ end: End) throws {
    let fixture = try ServiceFixture.here()
    // More than a busy machine needs between two watchdog pings, or to stop a thread.
    try fixture.override("WatchdogSec=10s\nStartLimitBurst=100")
    let client = try fixture.client()
    if try client.call("account.list")["accounts"]?.arrayValue?.isEmpty == true {
      try fixture.signIn(client)
      // The first process was started with the package's watchdog setting.
      try fixture.system.run("systemctl", "restart", "usherd.service")
    }
    let token = try fixture.token(fixture.client())
    let socket = try fixture.identity(of: ServiceFixture.socket)
    let (restarts, timeouts) = (try fixture.property("NRestarts"), timeouts(fixture))
    let queued = try fixture.startedAgain { try bring(end, fixture) }
    #expect(try queued.receive(within: 60)?["result"]?["ready"] == true)
    #expect(try fixture.property("NRestarts") == "\((Int(restarts) ?? 0) + 1)")
    #expect(self.timeouts(fixture) == timeouts + (end.isWatchdogs ? 1 : 0))
    #expect(try fixture.identity(of: ServiceFixture.socket) == socket, "the socket stayed open")
    #expect(try fixture.token(fixture.client()) == token)
  }

  private func bring(_ end: End, _ fixture: ServiceFixture) throws {
    switch end {
    case .crash: try fixture.kill(by: "SEGV")
    case .abort: try fixture.kill(by: "ABRT")
    case .kill: try fixture.kill(by: "KILL")
    case .stop: try fixture.freeze()
    case .hang:
      let client = try fixture.client()
      _ = try client.call("system.status")
      try fixture.system.run(
        "systemd-run", "--quiet", "--unit=holder.service",
        "/usr/bin/python3", ServiceFixture.tools + "stop_thread.py", fixture.process(),
        "usherd-sockets")
      try eventually("the thread is stopped: \(fixture.system.journal(of: "holder.service"))") {
        fixture.system.journal(of: "holder.service").contains("stopped")
      }
      try client.send(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#)
      #expect(throws: (any Error).self) { try client.receive(within: 0.3) }
    }
  }

  /// Returns how many watchdog time-outs systemd has logged.
  private func timeouts(_ fixture: ServiceFixture) -> Int {
    fixture.journal.components(separatedBy: "Watchdog timeout").count - 1
  }
}
