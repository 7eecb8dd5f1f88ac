import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Starting and stopping under systemd", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct StartTests {
  private let fixture: ServiceFixture

  /// Restores the package's settings, with the provider in addition.
  init() throws {
    fixture = try ServiceFixture.here()
    try fixture.write(config: ServiceFixture.provider())
    try fixture.system.run("rm", "-f", ServiceFixture.override)
    try fixture.system.run("systemctl", "daemon-reload")
  }

  @Test("the first call on the app or admin socket starts usherd and is answered")
  func firstCall() throws {
    try fixture.system.run("systemctl", "stop", "usherd.service")
    #expect(try fixture.property("ActiveState") == "inactive")
    for (unit, path, mode) in [
      ("usherd.socket", ServiceFixture.socket, "666"),
      ("usherd-admin.socket", ServiceFixture.adminSocket, "600"),
    ] {
      #expect(try fixture.system.property("SubState", of: unit) == "listening")
      let identity = try fixture.identity(of: path)
      #expect(identity.hasSuffix(" root:root \(mode) socket"), "\(path) \(identity)")
      let answer = try RawClient(fixture.system.path(path)).call("system.status")
      #expect(answer["ready"] == true)
      // systemd may read the notification of readiness later than the client reads its reply.
      try fixture.daemon("is active") {
        try fixture.property("ActiveState") == "active"
          && fixture.property("StatusText").contains("Serving 1 provider")
      }
      try fixture.system.run("systemctl", "stop", "usherd.service")
    }
  }

  @Test("usherd reports READY only when its store is open, and then answers an earlier call")
  func readiness() throws {
    try fixture.signIn(fixture.client())
    let token = try fixture.token(fixture.client())
    try fixture.system.run("systemctl", "stop", "usherd.service")
    try fixture.system.run(
      "systemd-run", "--quiet", "--unit=holder.service", "--uid=usherd", "/usr/bin/python3",
      ServiceFixture.tools + "hold_database.py", ServiceFixture.database)
    try eventually("another process has locked the database") {
      fixture.system.journal(of: "holder.service").contains("held")
    }
    let early = try fixture.client()
    try early.send(
      #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"work"}}"#)
    try eventually("the daemon has a process") { try fixture.process() != "0" }
    let process = try fixture.process()
    // The daemon traps SIGHUP before it opens the database, and waits for the lock for 5 s. Then it
    // would end, so nothing here may take long.
    try eventually("the daemon has opened the database") {
      try fixture.system.run("sh", "-c", "ls -l /proc/$1/fd 2>&1 || true", "sh", process)
        .contains("/usherd.db\n")
    }
    for _ in 1...3 { #expect(try fixture.property("ActiveState") == "activating") }
    try fixture.system.run("systemctl", "kill", "--signal=HUP", "usherd.service")
    #expect(throws: (any Error).self) { try early.receive(within: 0.1) }
    try fixture.system.run("systemctl", "stop", "holder.service")
    #expect(try early.receive()?["result"]?["accessToken"] == .string(token))
    // The SIGHUP makes the daemon reload first.
    try fixture.daemon("is active") { try fixture.property("ActiveState") == "active" }
    #expect(try fixture.process() == process, "the waiting process must serve")
  }

  @Test(
    "systemctl stop answers calls in flight and keeps the sockets; the next call starts usherd again"
  )
  func stopping() throws {
    let (client, waiter) = (try fixture.client(), try fixture.client())
    try fixture.signIn(client)
    let flow = try waiter.startFlow("work")
    try waiter.send(
      #"{"jsonrpc":"2.0","id":"w","method":"flow.wait","params":{"flow":\#(flow["id"]?.text ?? ""),"#
        + #""revision":\#(flow["revision"]?.text ?? ""),"timeoutMs":60000}}"#)
    try fixture.control(
      "POST", "faults", ["endpoint": "token", "fault": ["delayMs": 1500], "times": 1])
    let before = try fixture.refreshes()
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"work","forceRefresh":true}}"#)
    try eventually("the refresh request has arrived") { try fixture.refreshes() == before + 1 }
    try fixture.system.run("systemctl", "stop", "usherd.service")
    #expect(try fixture.property("Result") == "success")
    let token = try #require(try client.receive()?["result"]?["accessToken"])
    #expect(try waiter.receive()?["result"]?["flow"]?["status"] == "active")
    #expect(try waiter.receive() == nil, "the daemon closes the connection")
    #expect(try fixture.system.property("SubState", of: "usherd.socket") == "listening")
    #expect(try fixture.token(fixture.client()) == token.stringValue)
    #expect(try fixture.refreshes() == before + 1)
    try fixture.comeBack(to: fixture.wayBack(of: flow))
    #expect(try fixture.client().finished(flow)["status"] == "succeeded")
  }

  @Test("usherd may take drain_seconds to stop although TimeoutStopSec of its unit is shorter")
  func longDrain() throws {
    try fixture.override("TimeoutStopSec=2s")
    try fixture.write(config: ServiceFixture.provider() + "[limits]\ndrain_seconds = 20\n")
    try fixture.system.run("systemctl", "restart", "usherd.service")
    let client = try fixture.client()
    try fixture.signIn(client)
    try fixture.control(
      "POST", "faults", ["endpoint": "token", "fault": ["delayMs": 5000], "times": 1])
    let before = try fixture.refreshes()
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"work","forceRefresh":true}}"#)
    try eventually("the refresh request has arrived") { try fixture.refreshes() == before + 1 }
    try fixture.system.run("systemctl", "stop", "usherd.service")
    #expect(try fixture.property("Result") == "success", "\(fixture.journal)")
    #expect(try client.receive()?["result"]?["accessToken"] != nil)
  }

  @Test(
    "systemd gives up a usherd that cannot start, and its sockets; with a good configuration all works"
  )
  func givingUp() throws {
    try fixture.system.run("systemctl", "stop", "usherd.service")
    try fixture.override("[Unit]\nStartLimitBurst=3")
    try fixture.write(config: ServiceFixture.provider() + "[limits]\nno_such_limit = 1\n")
    let early = try fixture.client()
    try early.send(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#)
    try fixture.daemon(within: 60, "is given up") {
      try fixture.system.property("Result", of: "usherd.socket") == "service-start-limit-hit"
    }
    #expect(try early.receive() == nil, "the connection must be closed")
    #expect(try fixture.property("StatusText").contains("50-test.toml"))
    #expect(fixture.journal.contains("limits.no_such_limit: unknown key"))
    try fixture.write(config: ServiceFixture.provider())
    try fixture.system.run("systemctl", "reset-failed", "usherd.service")
    try fixture.system.run("systemctl", "start", "usherd.socket", "usherd-admin.socket")
    #expect(try fixture.client().call("system.status")["ready"] == true)
  }

  @Test(
    "fifty clients that call token.get without pause see no failure during three restarts of usherd"
  )
  func restarts() throws {
    try fixture.signIn("ada", by: fixture.program(of: "ada", unit: "ada.service")())
    let load = try Load(fixture)
    var processes = [try fixture.process()]
    let socket = try fixture.identity(of: ServiceFixture.socket)
    for _ in 1...3 {
      try load.isThere()
      try fixture.system.run("systemctl", "restart", "usherd.service")
      processes.append(try fixture.process())
    }
    try load.isThere()
    let end = try load.end()
    // Each client had an answer from each process before the next restart. The last calls may be
    // cut off by the end of the load.
    #expect(
      end.failed == 0 && end.calls >= 3 * load.clients, "\(end.said)\n\(fixture.journal)")
    #expect(Set(processes).count == 4)
    #expect(try fixture.property("NRestarts") == "0", "no restart was automatic")
    #expect(try fixture.identity(of: ServiceFixture.socket) == socket)
  }
}
