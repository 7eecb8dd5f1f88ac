import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// A state of a `verifyPhone` flow (documentation page Truecaller).
struct PhoneFlowSnapshot: Sendable {
  var state: String
  var status = "active"
  var step = #"{"type":"wait","for":"the provider"}"#
  var problem = "null"
  var result = "null"
  var failure = "null"

  static let creating = PhoneFlowSnapshot(state: "creating")
  static let otpReceived = PhoneFlowSnapshot(state: "otpReceived")
  static let verificationComplete = PhoneFlowSnapshot(state: "verificationComplete")
  static let verifiedBefore = PhoneFlowSnapshot(state: "verifiedBefore")
  static let otpInitiated = asking()

  static func asking(_ problem: String? = nil, code: Int = 10) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: "otpInitiated",
      step: #"""
        {"type":"enterCode","purpose":"otp","channel":"sms","maskedTarget":"+91 ••• 210",\#
        "digits":6,"expiresAt":"2030-01-01T00:01:00Z","resendAt":"2030-01-01T00:01:00Z",\#
        "alsoAsk":[]}
        """#,
      problem: problem.map {
        #"""
        {"reason":"\#($0)","title":"t","message":"what went wrong",\#
        "provider":{"name":"truecaller","code":"\#(code)","error":"4220"}}
        """#
      } ?? "null")
  }

  static func trying(_ state: String) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: state,
      problem: #"{"reason":"provider_unreachable","title":"t","message":"away"}"#)
  }

  static func succeeded(_ state: String) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: state, status: "succeeded", step: "null",
      result: #"{"account":"acc_1","profile":\#(PhoneDaemon.profile)}"#)
  }

  static func failed(
    _ state: String, _ reason: String, code: Int, status: String = "failed"
  ) -> PhoneFlowSnapshot {
    PhoneFlowSnapshot(
      state: state, status: status, step: "null",
      failure: #"""
        {"reason":"\#(reason)","title":"t","message":"why it failed","retryable":false,\#
        "provider":{"name":"truecaller","code":"\#(code)"}}
        """#)
  }

  func flow(_ id: String, _ revision: Int) -> String {
    #"""
    {"id":"\#(id)","provider":"truecaller","kind":"verifyPhone","status":"\#(status)",\#
    "state":"\#(state)","revision":\#(revision),"step":\#(step),"problem":\#(problem),\#
    "result":\#(result),"failure":\#(failure),"createdAt":"2030-01-01T00:00:00Z",\#
    "updatedAt":"2030-01-01T00:00:00Z","expiresAt":"2030-01-01T00:10:00Z"}
    """#
  }
}

/// A fake daemon with scripted flows of kind `verifyPhone`.
final class PhoneDaemon: Sendable {
  /// The scripted reaction to `flow.submit`.
  enum Answer: Sendable {
    case advances([PhoneFlowSnapshot])
    case refused(String)
  }

  /// The reaction to `token.get`.
  enum Tokens: Sendable {
    case given
    /// A policy rule forbids the call.
    case refused
    case unanswered
  }

  private struct Played {
    var flows: [String: [PhoneFlowSnapshot]] = [:]
    var waiting: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer)] = []
    var begins: ArraySlice<[PhoneFlowSnapshot]>
    var answers: ArraySlice<Answer>
    var heard: [(method: String, params: JSONValue)] = []
  }

  private let played: Mutex<Played>
  private let tokens: Tokens
  /// Yields each element of ``methods`` after the call's effect.
  let asked: AsyncStream<String>
  private let hears: AsyncStream<String>.Continuation

  /// - Parameters:
  ///   - begins: The states of each new flow, in order. An empty array refuses the start.
  ///   - answers: The reactions to `flow.submit`, in order.
  init(begins: [[PhoneFlowSnapshot]], answers: [Answer] = [], tokens: Tokens = .given) {
    played = Mutex(Played(begins: begins[...], answers: answers[...]))
    self.tokens = tokens
    (asked, hears) = AsyncStream.makeStream()
  }

  /// The methods of all calls except `flow.wait`, `flow.get` and `rpc.cancel`, in order.
  var methods: [String] { played.withLock { $0.heard.map(\.method) } }

  func params(of method: String) -> [JSONValue] {
    played.withLock { $0.heard.filter { $0.method == method }.map(\.params) }
  }

  func run<Value>(_ body: (_ socketPath: String) async throws -> Value) async throws -> Value {
    try await FakeDaemon.run { peer in
      while true { try await self.answer(try await peer.next(), peer) }
    } _: { daemon in
      try await body(daemon.path)
    }
  }

  /// Changes a flow without a call.
  func happens(_ snapshot: PhoneFlowSnapshot, to id: String = "flw_1") async throws {
    try await append([snapshot], to: id)
  }

  /// Removes a flow, so that the daemon no longer knows it.
  func forgets(_ id: String = "flw_1") async throws {
    played.withLock { $0.flows[id] = nil }
    try await wake()
  }

  private func answer(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let isLook = ["flow.wait", "flow.get", "rpc.cancel"].contains(call.method)
    if !isLook { played.withLock { $0.heard.append((call.method, call.params)) } }
    // Yields after the effect of the call, because tests rely on that order.
    defer { if !isLook { hears.yield(call.method) } }
    let id = call.params["flow"]?.stringValue ?? ""
    switch call.method {
    case "flow.start": try await start(call, peer)
    case "flow.get": try await peer.reply(call, try reply(id))
    case "flow.wait":
      played.withLock { $0.waiting.append((call, peer)) }
      try await wake()
    case "flow.submit": try await submit(call, peer, id)
    case "flow.list": try await peer.reply(call, list(call.params))
    case "flow.cancel":
      try await append([.failed("otpInitiated", "cancelled", code: 3, status: "cancelled")], to: id)
      try await peer.reply(call, try reply(id))
    case "token.get":
      switch tokens {
      case .given: try await peer.reply(call, Self.token)
      case .refused: try await peer.fail(call, Self.error("permission_denied"))
      case .unanswered: break
      }
    case "rpc.cancel": break
    default: Issue.record("nobody expected \(call.method)")
    }
  }

  private func start(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let (id, snapshots) = played.withLock { played in
      let id = "flw_\(played.flows.count + 1)"
      let snapshots = played.begins.popFirst() ?? []
      if let first = snapshots.first { played.flows[id] = [first] }
      return (id, snapshots)
    }
    guard !snapshots.isEmpty else { return try await peer.fail(call, Self.error("overloaded")) }
    try await peer.reply(call, try reply(id))
    for snapshot in snapshots.dropFirst() { try await append([snapshot], to: id) }
  }

  private func submit(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer, _ id: String) async throws {
    let (answer, revision) = played.withLock { ($0.answers.popFirst(), $0.flows[id]?.count) }
    #expect(call.params["revision"]?.integerValue == revision.map { Int64($0) })
    switch answer {
    case .advances(let snapshots):
      try await append(snapshots, to: id)
      try await peer.reply(call, try reply(id))
    case .refused(let error): try await peer.fail(call, error)
    case nil: Issue.record("nobody expected this input")
    }
  }

  private func append(_ snapshots: [PhoneFlowSnapshot], to id: String) async throws {
    played.withLock { $0.flows[id]?.append(contentsOf: snapshots) }
    try await wake()
  }

  private func wake() async throws {
    let ready = played.withLock { played in
      let lengths = played.flows.mapValues(\.count)
      let isReady = { (call: FakeDaemon.Call) in
        lengths[call.params["flow"]?.stringValue ?? "", default: .max]
          > Int(call.params["revision"]?.integerValue ?? 0)
      }
      defer { played.waiting.removeAll { isReady($0.call) } }
      return played.waiting.filter { isReady($0.call) }
    }
    for (call, peer) in ready {
      let id = call.params["flow"]?.stringValue ?? ""
      guard played.withLock({ $0.flows[id] != nil }) else {
        try await peer.fail(call, Self.error("not_found", field: "flow"))
        continue
      }
      try await peer.reply(call, try reply(id, Int(call.params["revision"]?.integerValue ?? 0)))
    }
  }

  /// - Parameter since: The revision after which transitions are listed; nil for no transitions.
  private func reply(_ id: String, _ since: Int? = nil) throws -> String {
    let flow = played.withLock { $0.flows[id] ?? [] }
    let body = try #require(flow.last).flow(id, flow.count)
    guard let since else { return #"{"flow":\#(body)}"# }
    let transitions = flow.enumerated().dropFirst(since).map { index, snapshot in
      #"{"revision":\#(index + 1),"state":"\#(snapshot.state)","at":"2030-01-01T00:00:00Z"}"#
    }
    return #"{"flow":\#(body),"transitions":[\#(transitions.joined(separator: ","))]}"#
  }

  private func list(_ params: JSONValue) -> String {
    let newestFirst = played.withLock { $0.flows }.sorted { $0.key > $1.key }
    let flows = newestFirst.compactMap { id, flow in
      flow.last.flatMap { last -> String? in
        guard [nil, last.status].contains(params["status"]?.stringValue) else { return nil }
        var bare = last
        bare.step = "null"
        return bare.flow(id, flow.count)
      }
    }
    return #"{"flows":[\#(flows.joined(separator: ","))]}"#
  }

  static func error(_ reason: String, field: String? = nil) -> String {
    let field = field.map { #","field":"\#($0)""# } ?? ""
    return #"""
      {"code":-32602,"message":"why not","data":{"reason":"\#(reason)","retryable":false,\#
      "correlationId":"cor_1"\#(field)}}
      """#
  }

  private static let token = #"""
    {"accessToken":"at-1","tokenType":"Bearer","expiresAt":null,"scope":"","account":"acc_1"}
    """#

  static let profile = #"""
    {"firstName":"Asha","lastName":"Rao","phoneNumber":"919876543210","countryCode":"IN",\#
    "gender":"female","street":null,"city":"Pune","zipcode":null,"facebookID":null,\#
    "twitterID":null,"email":null,"url":null,"avatarUrl":null,"jobTitle":null,\#
    "companyName":null,"isVerified":true,"isAmbassador":false,"requestTime":1800000000.25}
    """#
}
