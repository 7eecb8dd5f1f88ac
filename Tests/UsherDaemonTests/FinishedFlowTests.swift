import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

@Suite("Finished flows and clock jumps", .timeLimit(.minutes(10)))
struct FinishedFlowTests {
  private let harness: ConnectionHarness

  init() async throws { harness = try await ConnectionHarness() }

  private func call(
    _ method: String, _ params: String, _ connection: HarnessConnection
  ) async throws -> JSONValue {
    let reply = try await answer(method, params, connection)
    return try #require(reply["result"], "\(reply)")
  }

  private func answer(
    _ method: String, _ params: String, _ connection: HarnessConnection
  ) async throws -> JSONValue {
    try CallLine.parse(try await connection.answer(CallLine.line(method, params)))
  }

  /// Parameters of a flow that waits for the passcode, or ends at once if none is set.
  private static let passcode = """
    {"provider":"local","kind":"authenticate","waitMs":10000,\
    "params":{"localAuthType":"passcode","reason":"open the till"}}
    """

  private func start(_ connection: HarnessConnection) async throws -> String {
    let reply = try await call("flow.start", Self.passcode, connection)
    return try #require(reply["flow"]?["id"]?.stringValue, "\(reply)")
  }

  @Test("the sweep deletes the oldest finished flows beyond finished_flows_per_user")
  func bounded() async throws {
    let text = "[limits]\nfinished_flows_per_user = 3\nflow_starts_per_minute = 1000\n"
    let limits = try Config.load(files: [("u.toml", text)]).limits
    try harness.reload { $0.limits = limits }
    let connection = try await harness.connect()
    var flows: [String] = []
    for _ in 1...5 {
      flows.append(try await start(connection))
      harness.clock.advance(by: .seconds(1))
    }
    try await harness.lockController.sweep()
    let listed = try await call("flow.list", "{}", connection)["flows"]?.arrayValue ?? []
    let ids = Set(listed.compactMap { $0["id"]?.stringValue })
    #expect(ids == Set(flows.suffix(3)))
    await harness.end()
  }

  @Test("a live flow expires at the next sweep after the clock jumped past its deadline")
  func jump() async throws {
    let services = try harness.lockController.services()
    try await harness.harness.setPasscode(services.store)
    try services.localAuth.restore()
    let connection = try await harness.connect()
    let flow = try await start(connection)
    let session = try services.flows.engine.flow(FlowID(flow), of: .anna)
    #expect(!session.snapshot.isFinished)
    harness.clock.advance(by: .seconds(86_400))
    try await harness.lockController.sweep()
    try await reached("the flow has ended") { session.snapshot.isFinished }
    #expect(session.snapshot.ending.status == .expired)
    await harness.end()
  }

  @Test("a clock set ahead does not give more flow starts per minute")
  func starts() async throws {
    let text = "[limits]\nflow_starts_per_minute = 2\n"
    let limits = try Config.load(files: [("u.toml", text)]).limits
    try harness.reload { $0.limits = limits }
    harness.clock.setBootTime(BootTime(boot: "a", milliseconds: 0))
    let connection = try await harness.connect()
    for _ in 1...2 { _ = try await start(connection) }
    harness.clock.advance(by: .seconds(3600))
    let reply = try await answer("flow.start", Self.passcode, connection)
    #expect(reply["error"]?["data"]?["reason"] == "rate_limited", "\(reply)")
    await harness.end()
  }

  @Test("uptimeSeconds is never negative, even after the clock was set back by a day")
  func uptime() async throws {
    let connection = try await harness.connect()
    harness.clock.advance(by: .seconds(-86_400))
    let uptime = try await call("system.status", "{}", connection)["uptimeSeconds"]?.integerValue
    #expect(try #require(uptime) >= 0)
    await harness.end()
  }
}
