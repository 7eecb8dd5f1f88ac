import Foundation
package import JSONRPC

/// A provider of the sandbox, a daemon that knows it, and an app at the daemon's socket; a test's own.
///
/// What is alike for all providers.
package protocol ProviderFixture {
  /// What the sandbox calls the provider, as in the endpoint `truecaller.create`; empty for that of
  /// OpenID Connect, whose endpoints have no name before theirs.
  static var backend: String { get }

  var sandbox: SandboxUnderTest { get }
  var daemon: DaemonUnderTest { get }
  var app: RawClient { get }

  /// The same at another connection: another client's or user's, or a new one after a restart of
  /// the daemon.
  func at(_ app: RawClient) -> Self
}

// MARK: - The provider

extension ProviderFixture {
  private func named(_ name: String, _ separator: String) -> String {
    Self.backend.isEmpty ? name : "\(Self.backend)\(separator)\(name)"
  }

  package func set(_ settings: JSONValue) throws {
    try sandbox.control("POST", named("settings", "/"), settings)
  }

  /// - Parameters:
  ///   - times: How often it strikes; nil until it is mended.
  ///   - after: How many requests it spares first.
  package func spoil(
    _ endpoint: String, _ fault: JSONValue, times: Int? = nil, after: Int = 0,
    grantType: String? = nil
  ) throws {
    var rule: JSONValue = ["endpoint": .string(named(endpoint, ".")), "fault": fault]
    rule["times"] = times.map { .integer(Int64($0)) }
    rule["after"] = after == 0 ? nil : .integer(Int64(after))
    rule["grantType"] = grantType.map { .string($0) }
    try sandbox.control("POST", "faults", rule)
  }

  /// How many requests of a name the provider has seen.
  package func requests(_ endpoint: String, grantType: String? = nil) throws -> Int {
    try sandbox.requests(named(endpoint, "."), grantType: grantType)
  }

  /// What the provider has of a kind.
  package func list(_ list: String) throws -> [JSONValue] {
    try sandbox.control("GET", "\(Self.backend)/\(list)")[list]?.arrayValue ?? []
  }

  /// What was sent to people, newest first.
  package func outbox() throws -> [JSONValue] {
    try sandbox.control("GET", "outbox")["messages"]?.arrayValue ?? []
  }
}

// MARK: - The daemon

extension ProviderFixture {
  package func again() throws -> Self { at(try daemon.client()) }

  /// Ends the daemon, by `kill -9` where it is a process of its own, and starts it again.
  package func restarted() throws -> Self {
    try daemon.restart()
    return try again()
  }

  /// Answers the step, and returns the flow at the next step that is not `wait`, or its end.
  package func submit(_ input: JSONValue, to flow: JSONValue, waitMs: Int64 = 30_000) throws
    -> JSONValue
  {
    try app.flow(in: app.call("flow.submit", submission(input, to: flow, waitMs), within: 120))
  }

  /// The `data` of the error with which an answer is refused.
  package func refusalData(_ input: JSONValue, to flow: JSONValue) throws -> JSONValue {
    try app.reply(to: "flow.submit", submission(input, to: flow, 0))["error"]?["data"] ?? .null
  }

  package func submission(_ input: JSONValue, to flow: JSONValue, _ waitMs: Int64) -> JSONValue {
    [
      "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": input,
      "waitMs": .integer(waitMs),
    ]
  }

  package func flow(_ flow: JSONValue) throws -> JSONValue {
    try app.flow(in: app.call("flow.get", ["flow": flow["id"] ?? .null]))
  }

  package func cancel(_ flow: JSONValue) throws -> JSONValue {
    try app.flow(in: app.call("flow.cancel", ["flow": flow["id"] ?? .null]))
  }

  /// The states a flow went through, in order, each once.
  package func states(of flow: JSONValue) throws -> [String] {
    let told = try app.call(
      "flow.wait", ["flow": flow["id"] ?? .null, "revision": 0, "timeoutMs": 0])["transitions"]
    return (told?.arrayValue ?? []).compactMap { $0["state"]?.stringValue }
      .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  package func account(_ id: JSONValue?) throws -> JSONValue {
    try app.call("account.get", ["account": id ?? .null])["account"] ?? .null
  }

  /// The account that a flow has ended with.
  package func account(of end: JSONValue) throws -> JSONValue {
    try account(end["result"]?["account"])
  }

  package func accounts() throws -> [JSONValue] {
    try app.call("account.list")["accounts"]?.arrayValue ?? []
  }

  /// Waits until the flow has moved on to something that holds.
  package func moved(
    _ flow: JSONValue, within seconds: Double = 20, _ what: String,
    until holds: (JSONValue) -> Bool
  ) throws -> JSONValue {
    var flow = flow
    try eventually(within: seconds, "the flow \(what)") {
      if holds(flow) { return true }
      guard flow["status"] == "active" else {
        throw TestError("it ended before it \(what): \(flow)")
      }
      let wait: JSONValue = [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 2000,
      ]
      flow = try app.flow(in: app.call("flow.wait", wait))
      return holds(flow)
    }
    return flow
  }

  /// Starts something and leaves it at a call that takes long, until the provider has seen that.
  ///
  /// - Parameter processed: Whether the provider does it before it is silent.
  package func holding<Value>(
    _ endpoint: String, processed: Bool = false, _ start: () throws -> Value
  ) throws -> Value {
    let before = try requests(endpoint)
    try spoil(endpoint, ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let value = try start()
    try eventually("\(endpoint) is called") { try requests(endpoint) > before }
    return value
  }
}
