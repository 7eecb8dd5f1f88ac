import JSONRPC
import Testing
import UsherTestKit

extension OIDCFixture {
  /// A scene whose daemon and provider live by a clock that the test moves.
  ///
  /// - Parameter requestTimeout: Seconds that the daemon has for a request to the provider.
  init(_ clock: MovableClock, requestTimeout: Int = 10) throws {
    sandbox = try SandboxUnderTest(clock: clock)
    daemon = try DaemonUnderTest(
      config: sandbox.provider(more: "request_timeout_seconds = \(requestTimeout)") + """
        [limits]
        flow_starts_per_minute = 10000
        """, clock: clock)
    app = try daemon.client()
  }

  /// A flow at its very first step.
  func start() throws -> JSONValue {
    try app.call(
      "flow.start", ["provider": "demo", "kind": "authorize", "params": [:]])["flow"] ?? .null
  }

  /// The provider is not to blame for ever: the flow says what is wrong, tries again and goes on.
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
