import Foundation
import JSONRPC
import UsherTestKit

/// Throws where `holds` is false: for checks that run outside a test's own task.
func must(_ holds: Bool, _ what: @autoclosure () -> String) throws {
  guard holds else { throw TestError(what()) }
}

extension JSONValue {
  /// The page a flow at `openURL` wants opened.
  func page() throws -> String {
    guard let url = self["step"]?["url"]?.stringValue else {
      throw TestError("no page to open: \(text)")
    }
    return url
  }
}

extension SandboxUnderTest {
  /// Whether the provider still honours an access token (RFC 7662).
  func honours(_ token: String) throws -> Bool {
    let reply = try Web.post(
      "\(issuer)/introspect",
      form: [
        "token": token, "client_id": "usher-confidential",
        "client_secret": "s3cret:with/odd+chars",
      ])
    return try JSONValue(parsing: reply.body)["active"] == true
  }
}

extension DaemonUnderTest {
  /// The browser comes back; a moment after a restart nobody may listen yet.
  func comeBack(to url: String) throws {
    try eventually("the browser is answered") {
      try must(isRunning, "usherd has ended")
      return (try? Web.get(url))?.status == 200
    }
  }
}

/// One person's sign-in seen from outside: a program at the socket and a browser, both of which
/// outlive the daemon and remember what they were told.
///
/// ``run()`` goes on from wherever things are: call it again after the daemon died.
final class Story {
  private let daemon: DaemonUnderTest
  private let kind: String
  private let requestID: String
  /// The flow as it was last told to the program, and every revision it was told of.
  private(set) var told: JSONValue?
  private var toldStates: [Int64: String] = [:]
  /// The page that is open in the browser, and where the provider sent it from there.
  private(set) var page: String?
  private var wayBack: String?
  private var approved: Set<String> = []

  init(_ daemon: DaemonUnderTest, kind: String, requestID: String) {
    self.daemon = daemon
    self.kind = kind
    self.requestID = requestID
  }

  /// Signs in, and returns the flow at its end.
  func run() throws -> JSONValue {
    let client = try daemon.client()
    var flow = try begin(client)
    for _ in 0..<30 {
      guard flow["status"] == "active" else { return flow }
      try act(on: flow["step"])
      flow = try wait(for: flow, client)
    }
    throw TestError("the flow does not end: \(flow.text)")
  }

  /// Starts the flow, or finds the one that an earlier start made without our hearing of it.
  func begin(_ client: RawClient) throws -> JSONValue {
    let reply = try client.reply(
      to: "flow.start",
      [
        "provider": "demo", "kind": .string(kind), "requestId": .string(requestID),
        "params": [:],
      ])
    if let flow = reply["result"]?["flow"] { return try heard(flow) }
    try must(
      reply["error"]?["data"]?["reason"] == "request_id_reused", "flow.start: \(reply.text)")
    let known = try client.call("flow.get", ["flow": reply["error"]?["data"]?["flow"] ?? .null])
    return try heard(client.flow(in: known))
  }

  private func wait(for flow: JSONValue, _ client: RawClient) throws -> JSONValue {
    let result = try client.call(
      "flow.wait",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "timeoutMs": 50_000,
      ])
    for transition in result["transitions"]?.arrayValue ?? [] { hear(transition) }
    let next = try heard(client.flow(in: result))
    try must(next["revision"] != flow["revision"], "the flow does not move: \(next.text)")
    return next
  }

  /// What the person does: whatever the step says.
  private func act(on step: JSONValue?) throws {
    switch step?["type"] {
    case "openURL":
      guard let url = step?["url"]?.stringValue else { throw TestError("no URL") }
      if page != url || wayBack == nil {
        page = url
        wayBack = try Person.decide(at: url).location
      }
      // The browser's tab; after a crash it is loaded again.
      if let wayBack { try daemon.comeBack(to: wayBack) }
    case "displayCode":
      guard let url = step?["verificationURIComplete"]?.stringValue,
        let code = step?["userCode"]?.stringValue
      else { throw TestError("no code") }
      if approved.insert(code).inserted { _ = try Person.decide(at: url, userCode: code) }
    default: break
    }
  }

  private func hear(_ transition: JSONValue) {
    guard let revision = transition["revision"]?.integerValue else { return }
    toldStates[revision] = transition["state"]?.stringValue
  }

  private func heard(_ flow: JSONValue) throws -> JSONValue {
    if let told {
      try must(told["id"] == flow["id"], "another flow than before: \(flow.text)")
      let (before, now) = (told["revision"]?.integerValue, flow["revision"]?.integerValue)
      try must((now ?? -1) >= (before ?? 0), "a revision was lost: \(before ?? 0), \(flow.text)")
    }
    told = flow
    hear(flow)
    return flow
  }
}

// What must still be true after the daemon died.
extension Story {
  /// Every transition that was told is in the journal; the account is there whole, or not at all.
  ///
  /// - Parameter looks: How often a flow is looked at again whose account is listed already: the two are
  ///   stored together, and shown one after the other.
  func checkNothingLost(looks: Int = 250) throws {
    let client = try daemon.client()
    let flows = try client.call("flow.list")["flows"]?.arrayValue ?? []
    try must(flows.count <= 1, "the flow exists twice")
    guard let told else {
      let accounts = try accounts(client)
      return try must(!flows.isEmpty || accounts.isEmpty, "accounts out of nowhere")
    }
    let now = try client.call(
      "flow.wait", ["flow": told["id"] ?? .null, "revision": 0, "timeoutMs": 0])
    let flow = try heard(client.flow(in: now))
    let journal = (now["transitions"]?.arrayValue ?? []).map {
      ($0["revision"]?.integerValue ?? -1, $0["state"]?.stringValue ?? "")
    }
    let states = Dictionary(journal) { first, _ in first }
    for (revision, state) in toldStates {
      try must(
        states[revision] == state, "revision \(revision) was \(state), now \(states)")
    }
    let accounts = try accounts(client)
    // It may have ended just between the two looks.
    guard try heard(client.flow(in: client.call("flow.get", ["flow": told["id"] ?? .null]))) == flow
    else { return try checkNothingLost(looks: looks) }
    if flow["status"] == "active", accounts.count == 1, looks > 0 {
      usleep(20_000)
      return try checkNothingLost(looks: looks - 1)
    }
    let isSignedIn = flow["status"] == "succeeded"
    try must(accounts.count == (isSignedIn ? 1 : 0), "\(accounts.count) accounts: \(flow.text)")
    if isSignedIn {
      try must(
        accounts.first?["id"] == flow["result"]?["account"], "the result names another account")
      try must(
        accounts.first?["tokens"]?.arrayValue?.first?["status"] == "valid",
        "the account has no token: \(accounts)")
    }
  }

  private func accounts(_ client: RawClient) throws -> [JSONValue] {
    try client.call("account.list")["accounts"]?.arrayValue ?? []
  }

  func checkToken(_ sandbox: SandboxUnderTest) throws {
    let token = try daemon.client().call("token.get", ["provider": "demo"])
    let isGood = try token["accessToken"]?.stringValue.map(sandbox.honours) ?? false
    try must(isGood, "the token is not honoured")
  }
}
