import Foundation
package import JSONRPC

/// A provider in the sandbox, a daemon that is configured for it, and an app at the daemon's
/// socket, all for one test. Contains what is common to all providers.
package protocol ProviderFixture {
  /// The name of the provider in the sandbox, as in the endpoint `truecaller.create`. Empty for
  /// OpenID Connect, whose endpoints have no prefix.
  static var backend: String { get }

  var sandbox: SandboxUnderTest { get }
  var daemon: DaemonUnderTest { get }
  var app: RawClient { get }

  /// Returns the same fixture with another connection: of another client or user, or after a
  /// restart of the daemon.
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

  /// Makes requests for an endpoint fail.
  ///
  /// - Parameters:
  ///   - times: How many requests fail; nil means all until the faults are removed.
  ///   - after: How many requests succeed before that.
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

  /// Returns the number of requests for an endpoint that the provider has received.
  package func requests(_ endpoint: String, grantType: String? = nil) throws -> Int {
    try sandbox.requests(named(endpoint, "."), grantType: grantType)
  }

  /// Returns the number of requests for an endpoint that the provider has processed and answered.
  package func answered(_ endpoint: String) throws -> Int {
    let log = try sandbox.control("GET", "requests?endpoint=\(named(endpoint, "."))")["requests"]
    return log?.arrayValue?.count { $0["status"]?.integerValue != nil } ?? 0
  }

  /// Returns a list of the provider's objects.
  package func list(_ list: String) throws -> [JSONValue] {
    try sandbox.control("GET", "\(Self.backend)/\(list)")[list]?.arrayValue ?? []
  }

  /// Returns the messages sent to people, newest first.
  package func outbox() throws -> [JSONValue] {
    try sandbox.control("GET", "outbox")["messages"]?.arrayValue ?? []
  }
}

// MARK: - The daemon

extension ProviderFixture {
  package func again() throws -> Self { at(try daemon.client()) }

  /// Ends the daemon, with SIGKILL if it has a process of its own, and starts it again.
  package func restarted() throws -> Self {
    try daemon.restart()
    return try again()
  }

  /// Submits input; returns the flow at its next step other than `wait`, or at its end.
  package func submit(_ input: JSONValue, to flow: JSONValue, waitMs: Int64 = 60_000) throws
    -> JSONValue
  {
    try app.flow(in: app.call("flow.submit", submission(input, to: flow, waitMs), within: 120))
  }

  /// Returns the `data` of the error with which input is refused.
  package func refusalData(_ input: JSONValue, to flow: JSONValue) throws -> JSONValue {
    try app.reply(to: "flow.submit", submission(input, to: flow, 0))["error"]?["data"] ?? .null
  }

  /// Submits an input that must be refused; returns the error's `reason` and `field`.
  package func refusal(_ input: JSONValue, to flow: JSONValue) throws -> (String?, String?) {
    let data = try refusalData(input, to: flow)
    return (data["reason"]?.stringValue, data["field"]?.stringValue)
  }

  /// Asks for another code; returns the flow as ``submit(_:to:waitMs:)`` does.
  package func resend(_ flow: JSONValue) throws -> JSONValue {
    try submit(["type": "enterCode", "resend": true], to: flow)
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

  /// Returns the states of a flow in order, without consecutive repetitions.
  package func states(of flow: JSONValue) throws -> [String] {
    let told = try app.call(
      "flow.wait", ["flow": flow["id"] ?? .null, "revision": 0, "timeoutMs": 0])["transitions"]
    return (told?.arrayValue ?? []).compactMap { $0["state"]?.stringValue }
      .reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }

  package func account(_ id: JSONValue?) throws -> JSONValue {
    try app.call("account.get", ["account": id ?? .null])["account"] ?? .null
  }

  /// Returns the account of a finished flow.
  package func account(of end: JSONValue) throws -> JSONValue {
    try account(end["result"]?["account"])
  }

  package func accounts() throws -> [JSONValue] {
    try app.call("account.list")["accounts"]?.arrayValue ?? []
  }

  /// Waits until `holds` is true for the flow.
  package func moved(
    _ flow: JSONValue, within seconds: Double = 60, _ what: String,
    until holds: (JSONValue) -> Bool
  ) throws -> JSONValue {
    var flow = flow
    try eventually(within: seconds, "the flow \(what)") {
      if holds(flow) { return true }
      guard flow["status"] == "active" else {
        throw TestError("the flow ended before it \(what): \(flow)")
      }
      let wait: JSONValue = [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 2000,
      ]
      flow = try app.flow(in: app.call("flow.wait", wait))
      return holds(flow)
    }
    return flow
  }

  /// Runs `start`, and returns while the provider delays a request that it has received.
  ///
  /// - Parameter processed: Whether the provider processes the request before the delay.
  package func holding<Value>(
    _ endpoint: String, processed: Bool = false, _ start: () throws -> Value
  ) throws -> Value {
    let before = try requests(endpoint)
    try spoil(endpoint, ["delayMs": 60_000, "processed": .bool(processed)], times: 1)
    let value = try start()
    try eventually("the daemon calls the endpoint \(endpoint)") { try requests(endpoint) > before }
    return value
  }
}
