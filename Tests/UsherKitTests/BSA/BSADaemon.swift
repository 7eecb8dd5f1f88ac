import Crypto
import JSONRPC
import Synchronization
import Testing
import UsherTestKit

@testable import UsherKit

/// A fake daemon with scripted flows and replies.
final class BSADaemon: Sendable {
  /// The scripted reaction to a call.
  enum Answer: Sendable {
    /// Moves the flow through these states, one revision each.
    case advances([BSAFlowSnapshot])
    /// As ``advances(_:)``, but closes the connection without a reply.
    case advancesAndDisconnects([BSAFlowSnapshot])
    /// As ``advances(_:)``, but replies only at ``BSADaemon/sendDelayedReplies()``.
    case advancesAndRepliesLater([BSAFlowSnapshot])
    /// Replies to a call that is not about a flow.
    case reply(String)
    /// Closes the connection without any effect.
    case lost
    case refused(String)
  }

  struct Played {
    let kind: String
    let key: String?
    var snapshots: [BSAFlowSnapshot]
  }

  private struct State {
    var flows: [String: Played] = [:]
    var waiting: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer)] = []
    var delayedReplies: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer, flow: String)] = []
    var answers: [String: ArraySlice<Answer>]
    var readsToDisconnect = 0
    var heard: [(method: String, params: JSONValue)] = []
  }

  private let state: Mutex<State>
  private let calls: AsyncStream<String>.Continuation
  /// Yields each method except `flow.wait`, `flow.get` and `rpc.cancel`, after its effect. For one
  /// reader.
  let methodsHeard: AsyncStream<String>

  private let gets: AsyncStream<Void>.Continuation
  /// Yields after each reply to `flow.get`. For one reader.
  let getsHeard: AsyncStream<Void>

  private struct HungUp: Error {}

  /// - Parameters:
  ///   - starts: The reactions to `flow.start`, in order.
  ///   - inputs: The reactions to `flow.submit`, in order.
  ///   - replies: The reactions to other calls, by method.
  init(
    starts: [Answer] = [], inputs: [Answer] = [], replies: [String: [Answer]] = [:]
  ) {
    var answers = replies.mapValues { $0[...] }
    answers["flow.start"] = starts[...]
    answers["flow.submit"] = inputs[...]
    state = Mutex(State(answers: answers))
    (methodsHeard, calls) = AsyncStream.makeStream()
    (getsHeard, gets) = AsyncStream.makeStream()
  }

  convenience init(_ snapshots: BSAFlowSnapshot..., inputs: [Answer] = []) {
    self.init(starts: [.advances(snapshots)], inputs: inputs)
  }

  var methods: [String] { state.withLock { $0.heard.map(\.method) } }

  func params(of method: String) -> [JSONValue] {
    state.withLock { $0.heard.filter { $0.method == method }.map(\.params) }
  }

  /// The submitted inputs, in order.
  var inputs: [JSONValue] { params(of: "flow.submit").compactMap { $0["input"] } }

  /// Returns the status of a flow, or nil if there is no such flow.
  func status(of id: String = "flw_1") -> String? {
    state.withLock { $0.flows[id]?.snapshots.last?.status }
  }

  /// Runs the daemon and configures `BSA` for its socket while `body` runs.
  func run<Value: Sendable>(
    prompt: (any BSA.LocalAuth.Prompt)? = nil,
    _ body: @Sendable (_ socketPath: String) async throws -> Value
  ) async throws -> Value {
    try await FakeDaemon.run { peer in
      while true { try await self.answer(try await peer.next(), peer) }
    } _: { daemon in
      BSA.configure(socketPath: daemon.path, prompt: prompt)
      return try await body(daemon.path)
    }
  }

  /// Changes a flow without a call.
  func happens(_ snapshot: BSAFlowSnapshot, to id: String = "flw_1") async throws {
    try await append([snapshot], to: id)
  }

  func sendDelayedReplies() async throws {
    let delayedReplies = state.withLock { $0.delayedReplies }
    for (call, peer, flow) in delayedReplies { try await peer.reply(call, try reply(flow)) }
  }

  /// Closes the connection at the next `count` reads of a flow.
  func disconnectReads(_ count: Int) { state.withLock { $0.readsToDisconnect = count } }

  static func error(_ reason: String, field: String? = nil, code: Int? = nil) -> String {
    let field = field.map { #","field":"\#($0)""# } ?? ""
    let word = code.map { #","provider":{"name":"bsa","code":"\#($0)"}"# } ?? ""
    return #"""
      {"code":-32602,"message":"why not","data":{"reason":"\#(reason)","retryable":false,\#
      "correlationId":"cor_1"\#(field)\#(word)}}
      """#
  }

  /// The error of a policy rule that requires local authentication first.
  static let localAuthFirst = #"""
    {"code":1101,"message":"why not","data":{"reason":"interaction_required","retryable":false,\#
    "correlationId":"cor_1","next":{"method":"flow.start","params":{"provider":"local",\#
    "kind":"authenticate","params":{"localAuthType":"biometric","reason":"r"}}}}}
    """#

  /// The reply to `account.list` with these registrations. A higher number is newer.
  static func accounts(_ numbers: Int...) -> Answer {
    .reply(#"{"accounts":[\#(numbers.map(account).joined(separator: ","))]}"#)
  }

  private static func account(_ number: Int) -> String {
    #"""
    {"id":"acc_\#(number)","provider":"bsa","subject":"user\#(number)","label":"l","owner":1000,\#
    "client":null,"createdAt":"2030-01-0\#(number)T00:00:00Z","keepAlive":false,"tokens":[],\#
    "attributes":{"userKey":"user\#(number)","deviceId":"dev-\#(number)",\#
    "pushToken":"fcm-\#(number)","localAuthType":"PASSCODE"}}
    """#
  }

  /// Returns the key by which the daemon finds a contact's flow (documentation page BSA,
  /// `verifyContact`).
  static func key(_ contact: String) -> String {
    SHA256.hash(data: Array(contact.utf8)).map { byte in
      let text = String(byte, radix: 16)
      return text.count == 1 ? "0" + text : text
    }.joined()
  }
}

// MARK: - Answering

extension BSADaemon {
  private func answer(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let isLook = ["flow.wait", "flow.get", "rpc.cancel"].contains(call.method)
    if !isLook { state.withLock { $0.heard.append((call.method, call.params)) } }
    defer { if !isLook { calls.yield(call.method) } }
    let id = call.params["flow"]?.stringValue ?? ""
    switch call.method {
    case "flow.start": try await start(call, peer)
    case "flow.get", "flow.wait": try await look(call, peer, id)
    case "flow.submit": try await submit(call, peer, id)
    case "flow.cancel":
      if status(of: id) == "active" { try await append([.cancelled], to: id) }
      try await peer.reply(call, try reply(id))
    case "flow.list": try await peer.reply(call, list(call.params))
    case "rpc.cancel": break
    default: try await other(call, peer)
    }
  }

  private func look(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer, _ id: String) async throws {
    let isLost = state.withLock { state in
      guard state.readsToDisconnect > 0 else { return false }
      state.readsToDisconnect -= 1
      return true
    }
    if isLost { throw HungUp() }
    if call.method == "flow.get" {
      try await peer.reply(call, try reply(id))
      gets.yield()
      return
    }
    state.withLock { $0.waiting.append((call, peer)) }
    try await wake()
  }

  private func next(_ method: String) -> Answer? {
    state.withLock { $0.answers[method]?.popFirst() }
  }

  private func other(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    switch next(call.method) {
    case .reply(let reply): try await peer.reply(call, reply)
    case .refused(let error): try await peer.fail(call, error)
    case .lost: throw HungUp()
    case .advancesAndRepliesLater: break
    case .advances, .advancesAndDisconnects, nil: Issue.record("nobody expected \(call.method)")
    }
  }

  private func start(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    switch next(call.method) {
    case .advances(let snapshots): try await peer.reply(call, try reply(begin(snapshots, call)))
    case .advancesAndRepliesLater(let snapshots):
      let id = begin(snapshots, call)
      state.withLock { $0.delayedReplies.append((call, peer, id)) }
    case .refused(let error): try await peer.fail(call, error)
    case .lost: throw HungUp()
    case .advancesAndDisconnects, .reply, nil: Issue.record("nobody expected another start")
    }
  }

  private func begin(_ snapshots: [BSAFlowSnapshot], _ call: FakeDaemon.Call) -> String {
    let params = call.params["params"] ?? [:]
    let type = params["sendType"]?.stringValue
    let key = type.map { Self.key("\($0):\(params["sendTarget"]?.stringValue ?? "")") }
    return state.withLock { state in
      let id = "flw_\(state.flows.count + 1)"
      state.flows[id] = Played(
        kind: call.params["kind"]?.stringValue ?? "", key: key, snapshots: snapshots)
      return id
    }
  }

  private func submit(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer, _ id: String) async throws {
    if status(of: id) != "active" {
      return try await peer.fail(call, Self.error("flow_finished"))
    }
    let revision = state.withLock { $0.flows[id]?.snapshots.count ?? 0 }
    guard call.params["revision"]?.integerValue == Int64(revision) else {
      return try await peer.fail(call, Self.error("conflict"))
    }
    switch next(call.method) {
    case .advances(let snapshots):
      try await append(snapshots.prefix(1), to: id)
      try await peer.reply(call, try reply(id))
      for snapshot in snapshots.dropFirst() { try await append([snapshot], to: id) }
    case .advancesAndDisconnects(let snapshots):
      try await append(snapshots[...], to: id)
      throw HungUp()
    case .refused(let error): try await peer.fail(call, error)
    case .lost: throw HungUp()
    case .advancesAndRepliesLater, .reply, nil: Issue.record("nobody expected this input")
    }
  }

  private func append(_ snapshots: ArraySlice<BSAFlowSnapshot>, to id: String) async throws {
    state.withLock { $0.flows[id]?.snapshots.append(contentsOf: snapshots) }
    try await wake()
  }

  private func wake() async throws {
    let ready = state.withLock { state in
      let lengths = state.flows.mapValues(\.snapshots.count)
      let isReady = { (call: FakeDaemon.Call) in
        lengths[call.params["flow"]?.stringValue ?? "", default: 0]
          > Int(call.params["revision"]?.integerValue ?? 0)
      }
      defer { state.waiting.removeAll { isReady($0.call) } }
      return state.waiting.filter { isReady($0.call) }
    }
    for (call, peer) in ready {
      let reply = try reply(call.params["flow"]?.stringValue ?? "")
      // A client that has disconnected asks again, so a failed reply is ignored.
      try? await peer.reply(call, reply.dropLast() + #","transitions":[]}"#)
    }
  }

  private func reply(_ id: String) throws -> String {
    let flow = try #require(state.withLock { $0.flows[id] })
    let last = try #require(flow.snapshots.last)
    return #"{"flow":\#(last.flow(id, flow.kind, flow.key, flow.snapshots.count))}"#
  }

  private func list(_ params: JSONValue) -> String {
    let flows = state.withLock { $0.flows }.sorted { $0.key > $1.key }
    let fitting: [String] = flows.compactMap { id, flow in
      guard var bare = flow.snapshots.last,
        params["kind"]?.stringValue == flow.kind, params["key"]?.stringValue == flow.key,
        params["status"]?.stringValue == bare.status
      else { return nil }
      (bare.step, bare.result) = ("null", "null")
      return bare.flow(id, flow.kind, flow.key, flow.snapshots.count)
    }
    return #"{"flows":[\#(fitting.joined(separator: ","))]}"#
  }
}
