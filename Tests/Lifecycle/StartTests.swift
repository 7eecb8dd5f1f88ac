import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "starting and stopping under systemd", .mayBlock, .serialized, .whereSystemsBoot, .ownSystem(),
  .timeLimit(.minutes(10)))
struct StartTests {
  private let scene: ServiceScene

  /// All is as the package has it, but for the provider.
  init() throws {
    scene = try ServiceScene.here()
    try scene.write(config: ServiceScene.provider())
    try scene.system.run("rm", "-f", ServiceScene.override)
    try scene.system.run("systemctl", "daemon-reload")
  }

  @Test("the sockets wait for the first call, which starts the daemon and is answered")
  func firstCall() throws {
    try scene.system.run("systemctl", "stop", "usherd.service")
    #expect(try scene.property("ActiveState") == "inactive")
    for (unit, path, mode) in [
      ("usherd.socket", ServiceScene.socket, "666"),
      ("usherd-admin.socket", ServiceScene.adminSocket, "600"),
    ] {
      #expect(try scene.system.property("SubState", of: unit) == "listening")
      let identity = try scene.identity(of: path)
      #expect(identity.hasSuffix(" root:root \(mode) socket"), "\(path) \(identity)")
      let answer = try RawClient(scene.system.path(path)).call("system.status")
      #expect(answer["ready"] == true)
      #expect(try scene.property("ActiveState") == "active")
      #expect(try scene.property("StatusText").contains("Serving 1 provider"))
      try scene.system.run("systemctl", "stop", "usherd.service")
    }
  }

  @Test("it is ready when its store is open, and not before; who called then is answered")
  func readiness() throws {
    try scene.signIn(scene.client())
    let token = try scene.token(scene.client())
    try scene.system.run("systemctl", "stop", "usherd.service")
    try scene.system.run(
      "systemd-run", "--quiet", "--unit=holder.service", "--uid=usherd", "/usr/bin/python3",
      ServiceScene.tools + "hold_database.py", ServiceScene.database)
    try eventually("the database is held") {
      scene.system.journal(of: "holder.service").contains("held")
    }
    let early = try scene.client()
    try early.send(
      #"{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"provider":"work"}}"#)
    try eventually("the daemon has a process") { try scene.process() != "0" }
    let process = try scene.process()
    let end = Date(timeIntervalSinceNow: 2)
    while Date() < end { #expect(try scene.property("ActiveState") == "activating") }
    try scene.system.run("systemctl", "kill", "--signal=HUP", "usherd.service")
    #expect(throws: (any Error).self) { try early.receive(within: 0.3) }
    try scene.system.run("systemctl", "stop", "holder.service")
    #expect(try early.receive()?["result"]?["accessToken"] == .string(token))
    // It reloads first, having been asked to.
    try scene.daemon("is active") { try scene.property("ActiveState") == "active" }
    #expect(try scene.process() == process, "it was this one that waited")
  }

  @Test("stopping answers what is under way; the sockets stay, and the next call starts it again")
  func stopping() throws {
    let (client, waiter) = (try scene.client(), try scene.client())
    try scene.signIn(client)
    let flow = try waiter.startFlow("work")
    try waiter.send(
      #"{"jsonrpc":"2.0","id":"w","method":"flow.wait","params":{"flow":\#(flow["id"]?.text ?? ""),"#
        + #""revision":\#(flow["revision"]?.text ?? ""),"timeoutMs":60000}}"#)
    try scene.control(
      "POST", "faults", ["endpoint": "token", "fault": ["delayMs": 1500], "times": 1])
    let before = try scene.refreshes()
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"work","forceRefresh":true}}"#)
    try eventually("the refresh is under way") { try scene.refreshes() == before + 1 }
    try scene.system.run("systemctl", "stop", "usherd.service")
    #expect(try scene.property("Result") == "success")
    let token = try #require(try client.receive()?["result"]?["accessToken"])
    #expect(try waiter.receive()?["result"]?["flow"]?["status"] == "active")
    #expect(try waiter.receive() == nil, "the connection is closed")
    #expect(try scene.system.property("SubState", of: "usherd.socket") == "listening")
    #expect(try scene.token(scene.client()) == token.stringValue)
    #expect(try scene.refreshes() == before + 1)
    try scene.comeBack(to: scene.wayBack(of: flow))
    #expect(try scene.client().finished(flow)["status"] == "succeeded")
  }

  @Test("it asks systemd for the time that it may drain, however soon systemd would have killed it")
  func longDrain() throws {
    try scene.override("TimeoutStopSec=2s")
    try scene.write(config: ServiceScene.provider() + "[limits]\ndrain_seconds = 20\n")
    try scene.system.run("systemctl", "restart", "usherd.service")
    let client = try scene.client()
    try scene.signIn(client)
    try scene.control(
      "POST", "faults", ["endpoint": "token", "fault": ["delayMs": 5000], "times": 1])
    let before = try scene.refreshes()
    try client.send(
      #"{"jsonrpc":"2.0","id":"t","method":"token.get","params":"#
        + #"{"provider":"work","forceRefresh":true}}"#)
    try eventually("the refresh is under way") { try scene.refreshes() == before + 1 }
    try scene.system.run("systemctl", "stop", "usherd.service")
    #expect(try scene.property("Result") == "success", "\(scene.journal)")
    #expect(try client.receive()?["result"]?["accessToken"] != nil)
  }

  @Test("one that cannot start is given up, and its sockets with it; mended, all comes back")
  func givingUp() throws {
    try scene.system.run("systemctl", "stop", "usherd.service")
    try scene.override("[Unit]\nStartLimitBurst=3")
    try scene.write(config: ServiceScene.provider() + "[limits]\nno_such_limit = 1\n")
    let early = try scene.client()
    try early.send(#"{"jsonrpc":"2.0","id":1,"method":"system.status"}"#)
    try scene.daemon(within: 60, "is given up") {
      try scene.system.property("Result", of: "usherd.socket") == "service-start-limit-hit"
    }
    #expect(try early.receive() == nil, "nobody waits for ever")
    #expect(try scene.property("StatusText").contains("50-test.toml"))
    #expect(scene.journal.contains("limits.no_such_limit: unknown key"))
    try scene.write(config: ServiceScene.provider())
    try scene.system.run("systemctl", "reset-failed", "usherd.service")
    try scene.system.run("systemctl", "start", "usherd.socket", "usherd-admin.socket")
    #expect(try scene.client().call("system.status")["ready"] == true)
  }

  @Test("fifty clients that ask for tokens without pause see nothing of three restarts")
  func restarts() throws {
    try scene.signIn("ada", by: scene.program(of: "ada", unit: "ada.service")())
    let load = try Load(scene)
    var processes = [try scene.process()]
    let socket = try scene.identity(of: ServiceScene.socket)
    for _ in 1...3 {
      try load.isThere()
      try scene.system.run("systemctl", "restart", "usherd.service")
      processes.append(try scene.process())
    }
    try load.isThere()
    let end = try load.end()
    #expect(end.failed == 0 && end.calls > 500, "\(end.said)\n\(scene.journal)")
    #expect(Set(processes).count == 4)
    #expect(try scene.property("NRestarts") == "0", "systemd was asked each time")
    #expect(try scene.identity(of: ServiceScene.socket) == socket)
  }
}
