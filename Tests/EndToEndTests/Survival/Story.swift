import Foundation
import JSONRPC
import UsherTestKit

extension JSONValue {
  /// Returns the URL of the page that a flow at `openURL` asks to open.
  func page() throws -> String {
    guard let url = self["step"]?["url"]?.stringValue else {
      throw TestError("the flow has no page to open: \(text)")
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
  /// Opens the redirect URL as the browser does. Retries, because right after a restart the
  /// listener may not be open yet.
  func comeBack(to url: String) throws {
    try eventually("the daemon answers at the redirect URL") {
      try must(isRunning, "usherd has ended")
      return (try? Web.get(url))?.status == 200
    }
  }
}

/// One sign-in as seen from outside: a program at the socket and a browser, both of which outlive
/// the daemon and remember the states they have seen.
///
/// ``run()`` continues from the present state: call it again after the daemon died.
final class Story {
  private let daemon: DaemonUnderTest
  private let kind: String
  private let requestID: String
  /// The flow as the program saw it last, and the state of every revision that it has seen.
  private(set) var told: JSONValue?
  private var toldStates: [Int64: String] = [:]
  /// The page that is open in the browser, and the URL to which the provider redirected it.
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
    let deadline = TestDeadline(within: 120)
    while flow["status"] == "active" {
      guard !deadline.isOver else { throw TestError("the flow did not end: \(flow.text)") }
      try act(on: flow["step"])
      flow = try wait(for: flow, client)
    }
    return flow
  }

  /// Starts the flow, or finds the flow of an earlier start whose reply was lost.
  func begin(_ client: RawClient) throws -> JSONValue {
    let reply = try client.reply(
      to: "flow.start",
      [
        "provider": "demo", "kind": .string(kind), "requestId": .string(requestID),
        "params": [:],
      ])
    if let flow = reply["result"]?["flow"] { return try heard(flow) }
    try must(
      reply["error"]?["data"]?["reason"] == "request_id_reused", "flow.start failed: \(reply.text)")
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
    return try heard(client.flow(in: result))
  }

  /// Does what the step asks of the person.
  private func act(on step: JSONValue?) throws {
    switch step?["type"] {
    case "openURL":
      guard let url = step?["url"]?.stringValue else {
        throw TestError("the step openURL has no URL")
      }
      if page != url || wayBack == nil {
        page = url
        wayBack = try Person.decide(at: url).location
      }
      // The browser loads the URL again if the daemon died meanwhile.
      if let wayBack { try daemon.comeBack(to: wayBack) }
    case "displayCode":
      guard let url = step?["verificationURIComplete"]?.stringValue,
        let code = step?["userCode"]?.stringValue
      else { throw TestError("the step displayCode has no URL or no user code") }
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
      try must(
        told["id"] == flow["id"], "the daemon returned another flow than before: \(flow.text)")
      let (before, now) = (told["revision"]?.integerValue, flow["revision"]?.integerValue)
      try must(
        (now ?? -1) >= (before ?? 0), "a revision was lost: \(before ?? 0) before, now \(flow.text)"
      )
    }
    told = flow
    hear(flow)
    return flow
  }
}

// Checks for the state after a death of the daemon.
extension Story {
  /// Checks that every transition seen is stored, and the account either completely or not at all.
  ///
  /// - Parameter deadline: The time limit for an active flow whose account is already listed: both
  ///   are stored together, and become visible one after the other.
  func checkNothingLost(within deadline: TestDeadline = TestDeadline()) throws {
    let client = try daemon.client()
    let flows = try client.call("flow.list")["flows"]?.arrayValue ?? []
    try must(flows.count <= 1, "flow.list returned \(flows.count) flows instead of one")
    guard let told else {
      let accounts = try accounts(client)
      return try must(
        !flows.isEmpty || accounts.isEmpty, "there is an account but no flow: \(accounts)")
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
    // The flow may have ended between the two reads.
    guard try heard(client.flow(in: client.call("flow.get", ["flow": told["id"] ?? .null]))) == flow
    else { return try checkNothingLost(within: deadline) }
    if flow["status"] == "active", accounts.count == 1, !deadline.isOver {
      usleep(20_000)
      return try checkNothingLost(within: deadline)
    }
    let isSignedIn = flow["status"] == "succeeded"
    try must(
      accounts.count == (isSignedIn ? 1 : 0),
      "unexpected number of accounts, \(accounts.count): \(flow.text)")
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
    try must(isGood, "the provider refuses the token")
  }
}
