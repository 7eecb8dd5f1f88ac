import JSONRPC
import Testing
import UsherTestKit

extension OIDCFixture {
  /// Creates a fixture whose daemon and provider use a clock that the test moves.
  ///
  /// - Parameters:
  ///   - requestTimeout: The daemon's time-out for a request to the provider, in seconds.
  ///   - provider: More lines of the `[[provider]]`.
  ///   - limits: More lines of `[limits]`.
  ///   - more: Returns further `[[provider]]` tables for the sandbox.
  init(
    _ clock: MovableClock, requestTimeout: Int = 10, provider: String = "", limits: String = "",
    more: (SandboxUnderTest) -> String = { _ in "" }
  ) throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(
      config: sandbox.provider(
        more: "request_timeout_seconds = \(requestTimeout)\n\(provider)")
        + more(sandbox) + """
          [limits]
          flow_starts_per_minute = 10000
          \(limits)
          """, clock: clock)
    app = try daemon.client()
  }

  /// Starts a flow, and returns it at its first step.
  func start() throws -> JSONValue {
    try app.call(
      "flow.start", ["provider": "demo", "kind": "authorize", "params": [:]])["flow"] ?? .null
  }

  /// Expects that the flow is active and reports the provider as unreachable.
  func expectProblem(_ flow: JSONValue) {
    #expect(flow["status"] == "active")
    #expect(flow["problem"]?["reason"] == "provider_unreachable")
    #expect(flow["problem"]?["message"]?.stringValue?.isEmpty == false)
    #expect(flow["problem"]?.hasSecret == false)
  }

  func expectProtocolError(_ flow: JSONValue) {
    #expect(flow["status"] == "failed")
    #expect(flow.failure["reason"] == "provider_protocol_error")
    #expect(!flow.hasSecret)
  }
}
