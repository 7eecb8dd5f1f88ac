import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite(
  "Flows under systemd", .mayBlock, .serialized, .whereSystemsBoot,
  .ownSystem(config: "[log]\nlevel = \"trace\"\n"), .timeLimit(.minutes(10)))
struct FlowLifeTests {
  enum Interruption: String, CaseIterable, CustomTestStringConvertible {
    case restart = "a restart"
    case kill = "SIGKILL"
    case watchdog = "the watchdog"
    case upgrade = "an upgrade of the package"

    var testDescription: String { rawValue }
  }

  private let fixture: ServiceFixture

  init() throws { fixture = try ServiceFixture.here() }

  @Test(
    "an authorize and a device flow continue after an interruption of usherd, and succeed",
    arguments: Interruption.allCases)
  func survival(_ interruption: Interruption) throws {
    try fixture.override("WatchdogSec=10s")
    try fixture.system.run("systemctl", "restart", "usherd.service")
    try fixture.control("POST", "settings", ["deviceInterval": 1])
    let client = try fixture.client()
    let code = try client.startFlow("work")
    let back = try fixture.wayBack(of: code)
    let device = try client.startFlow("work", "device")
    let queued = try fixture.startedAgain { try interrupt(interruption) }
    #expect(try queued.receive(within: 60)?["result"]?["ready"] == true)
    let later = try fixture.client()
    for flow in [code, device] {
      let now = try later.flow(in: later.call("flow.get", ["flow": flow["id"] ?? .null]))
      #expect(now["status"] == "active" && now["step"]?["type"] == flow["step"]?["type"])
    }
    try fixture.comeBack(to: back)
    #expect(try later.finished(code)["status"] == "succeeded")
    try fixture.approve(device)
    #expect(try later.finished(device)["status"] == "succeeded")
    #expect(try !fixture.token(later).isEmpty)
  }

  private func interrupt(_ interruption: Interruption) throws {
    switch interruption {
    case .restart: try fixture.system.run("systemctl", "restart", "usherd.service")
    case .kill: try fixture.kill(by: "KILL")
    case .watchdog: try fixture.freeze()
    case .upgrade: try fixture.install(.next)
    }
  }

  @Test(
    "the journal has the entries of one flow in order and with its fields, and contains no secret")
  func story() throws {
    let client = try fixture.client()
    let (flow, other) = (try client.startFlow("work"), try client.startFlow("work"))
    let back = try fixture.wayBack(of: flow)
    try fixture.comeBack(to: back)
    let end = try client.finished(flow)
    let token = try fixture.token(client)
    let id = try #require(flow["id"]?.stringValue)
    _ = try client.call("flow.cancel", ["flow": other["id"] ?? .null])
    let entries = try fixture.entries("USHER_FLOW=\(id)")
    let ids = entries.compactMap { $0["MESSAGE_ID"]?.stringValue?.suffix(2) }
    #expect(
      ids.first == "21" && ids.last == "23" && ids.count(where: { $0 != "22" }) == 2, "\(ids)")
    let known = try client.call(
      "flow.wait", ["flow": flow["id"] ?? .null, "revision": 0, "timeoutMs": 0])
    let steps = known["transitions"]?.arrayValue?.count ?? 0
    #expect(steps > 1 && ids.count >= steps, "\(entries)")
    for entry in entries {
      #expect(entry["USHER_PROVIDER"] == "work", "\(entry.text)")
      #expect(entry["USHER_CLIENT"]?.stringValue?.isEmpty == false, "\(entry.text)")
      #expect(entry["USHER_FLOW"] == .string(id))
      #expect(entry["_SYSTEMD_UNIT"] == "usherd.service")
    }
    #expect(entries.contains { $0["USHER_CORRELATION_ID"] != nil })
    #expect(end["status"] == "succeeded")
    try expectNoSecret([token, "alice-password", "alice@"] + values(in: back))
  }

  /// Returns the code and the state in a redirect URL.
  private func values(in url: String) -> [String] {
    (URLComponents(string: url)?.queryItems ?? []).filter { ["code", "state"].contains($0.name) }
      .compactMap(\.value)
  }

  /// Expects that no journal field of the daemon contains one of these secrets.
  private func expectNoSecret(_ secrets: [String]) throws {
    #expect(secrets.count == 5 && secrets.allSatisfy { $0.count > 5 })
    let all = try fixture.system.run(
      "journalctl", "--output=export", "--no-pager", "--unit=usherd.service")
    #expect(all.contains("USHER_FLOW="))
    for secret in secrets { #expect(!all.contains(secret), "the journal contains \(secret)") }
  }
}
