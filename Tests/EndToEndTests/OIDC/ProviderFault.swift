import JSONRPC
import Testing
import UsherTestKit

/// What goes wrong at the provider, as its control API says it.
struct ProviderFault: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let json: JSONValue

  /// The provider is down for the moment.
  static let passing = [
    ProviderFault("no answer in time", ["delayMs": 3000]),
    ProviderFault("a reset connection", ["reset": true]),
    ProviderFault("half a body", ["halfBody": true]),
    ProviderFault("status 500", ["status": 500]),
    ProviderFault("status 503", ["status": 503]),
    ProviderFault("status 429", ["status": 429]),
  ]

  /// It answers what cannot be used.
  static let lasting = [
    ProviderFault("broken JSON", ["brokenJSON": true]),
    ProviderFault("a huge body", ["hugeBody": 2_000_000]),
    ProviderFault("a redirect", ["status": 302]),
    ProviderFault("an array", ["body": []]),
  ]

  init(_ name: String, _ json: JSONValue) {
    testDescription = name
    self.json = json
  }
}

/// What a flow shows for it.
extension Scene {
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
    #expect(!flow["problem"].map(\.hasSecret)!)
  }

  func expectProtocolError(_ flow: JSONValue) {
    #expect(flow["status"] == "failed")
    #expect(flow.failure["reason"] == "provider_protocol_error")
    #expect(!flow.hasSecret)
  }
}
