import JSONRPC
import Synchronization
import Testing
import UsherTestKit

/// A fake daemon with scripted flows and replies.
final class ScriptedDaemon<Snapshot: FlowSnapshot>: Sendable {
  /// The scripted reaction to a call.
  enum Answer: Sendable {
    /// Moves the flow through the first states, one revision each, and replies. Then moves it
    /// through the others.
    case advances([Snapshot], then: [Snapshot] = [])
    /// Moves the flow through these states, and closes the connection without a reply.
    case advancesAndDisconnects([Snapshot])
    /// Moves the flow through these states, and replies at
    /// ``ScriptedDaemon/sendDelayedReplies()``.
    case advancesAndRepliesLater([Snapshot])
    /// Closes the connection without any effect.
    case lost
    /// As ``lost``, but also closes the connection at the next reads of a flow.
    case lostWithReads(Int)
    case refused(String)
    /// Replies to a call that is not about a flow.
    case reply(String)
    case unanswered
  }

  private struct Progress {
    /// The parameters of `flow.start`.
    let start: JSONValue
    var snapshots: [Snapshot]
  }

  private struct State {
    var flows: [String: Progress] = [:]
    var waiting: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer)] = []
    var delayedReplies: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer, flow: String)] = []
    var answers: [String: ArraySlice<Answer>]
    var readsToDisconnect = 0
    var heard: [(method: String, params: JSONValue)] = []
  }

  private let state: Mutex<State>
  private let cancelled: Snapshot?
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
  ///   - cancelled: The state of an active flow after `flow.cancel`. If nil, `flow.cancel` closes
  ///     the connection.
  ///   - replies: The reactions to other calls, by method. A reply to `client.clear` cancels the
  ///     active flows.
  init(
    starts: [Answer] = [], inputs: [Answer] = [], cancelled: Snapshot? = .cancelled,
    replies: [String: [Answer]] = [:]
  ) {
    var answers = replies.mapValues { $0[...] }
    answers["flow.start"] = starts[...]
    answers["flow.submit"] = inputs[...]
    state = Mutex(State(answers: answers))
    self.cancelled = cancelled
    (methodsHeard, calls) = AsyncStream.makeStream()
    (getsHeard, gets) = AsyncStream.makeStream()
  }

  convenience init(_ first: Snapshot..., then: [Snapshot] = [], inputs: [Answer] = []) {
    self.init(starts: [.advances(first, then: then)], inputs: inputs)
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

  func run<Value: Sendable>(
    _ body: @Sendable (_ socketPath: String) async throws -> Value
  ) async throws -> Value {
    try await FakeDaemon.run { peer in
      while true { try await self.answer(try await peer.next(), peer) }
    } _: { daemon in
      Snapshot.configure(socketPath: daemon.path)
      return try await body(daemon.path)
    }
  }

  /// Changes a flow without a call.
  func happens(_ snapshot: Snapshot, to id: String = "flw_1") async throws {
    try await append([snapshot], to: id)
  }

  /// Removes a flow, so that the daemon no longer knows it.
  func forgets(_ id: String = "flw_1") async throws {
    state.withLock { $0.flows[id] = nil }
    try await wake()
  }

  func sendDelayedReplies() async throws {
    let delayedReplies = state.withLock { $0.delayedReplies }
    for (call, peer, flow) in delayedReplies { try await peer.reply(call, try reply(flow)) }
  }

  /// Closes the connection at the next `count` reads of a flow.
  func disconnectReads(_ count: Int) { state.withLock { $0.readsToDisconnect = count } }

  /// - Parameters:
  ///   - flow: The flow that the error names.
  ///   - code: The provider's error code.
  static func error(
    _ reason: String, field: String? = nil, flow: String? = nil, code: Int? = nil
  ) -> String {
    let field = field.map { #","field":"\#($0)""# } ?? ""
    let flow = flow.map { #","flow":"\#($0)""# } ?? ""
    let provider = code.map { #","provider":{"name":"demo","code":"\#($0)"}"# } ?? ""
    return #"""
      {"code":-32602,"message":"why not","data":{"reason":"\#(reason)","retryable":false,\#
      "correlationId":"cor_1"\#(field)\#(flow)\#(provider)}}
      """#
  }
}

// MARK: - Answering

extension ScriptedDaemon {
  private func answer(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let isRead = ["flow.wait", "flow.get", "rpc.cancel"].contains(call.method)
    if !isRead { state.withLock { $0.heard.append((call.method, call.params)) } }
    // Yields after the effect of the call, because tests rely on that order.
    defer { if !isRead { calls.yield(call.method) } }
    guard call.flow.isEmpty || status(of: call.flow) != nil else {
      return try await peer.fail(call, Self.error("not_found", field: "flow"))
    }
    switch call.method {
    case "flow.start": try await start(call, peer)
    case "flow.get", "flow.wait": try await read(call, peer)
    case "flow.submit": try await submit(call, peer)
    case "flow.cancel":
      guard let cancelled else { throw HungUp() }
      if status(of: call.flow) == "active" { try await append([cancelled], to: call.flow) }
      try await peer.reply(call, try reply(call.flow))
    case "flow.list": try await peer.reply(call, list(call.params))
    case "rpc.cancel": break
    default:
      try await react(to: call, peer) { _ in
        try #require(nil as String?, "\(call.method) has no flow")
      }
    }
  }

  /// Carries out the next reaction to a call.
  ///
  /// - Parameter advance: Moves the call's flow and returns its id.
  private func react(
    to call: FakeDaemon.Call, _ peer: FakeDaemon.Peer,
    _ advance: ([Snapshot]) async throws -> String
  ) async throws {
    switch state.withLock({ $0.answers[call.method]?.popFirst() }) {
    case .advances(let first, then: let others):
      let id = try await advance(first)
      try await peer.reply(call, try reply(id))
      for snapshot in others { try await append([snapshot], to: id) }
    case .advancesAndDisconnects(let snapshots):
      _ = try await advance(snapshots)
      throw HungUp()
    case .advancesAndRepliesLater(let snapshots):
      let id = try await advance(snapshots)
      state.withLock { $0.delayedReplies.append((call, peer, id)) }
    case .lost: throw HungUp()
    case .lostWithReads(let count):
      disconnectReads(count)
      throw HungUp()
    case .refused(let error): try await peer.fail(call, error)
    case .reply(let reply):
      if call.method == "client.clear" { try await cancelAll() }
      try await peer.reply(call, reply)
    case .unanswered: break
    case nil: Issue.record("nobody expected \(call.method)")
    }
  }

  private func cancelAll() async throws {
    for id in state.withLock({ $0.flows.keys.sorted() }) where status(of: id) == "active" {
      try await append([.cancelled], to: id)
    }
  }

  private func read(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let isLost = state.withLock { state in
      guard state.readsToDisconnect > 0 else { return false }
      state.readsToDisconnect -= 1
      return true
    }
    if isLost { throw HungUp() }
    if call.method == "flow.get" {
      try await peer.reply(call, try reply(call.flow))
      gets.yield()
      return
    }
    state.withLock { $0.waiting.append((call, peer)) }
    try await wake()
  }

  private func start(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    if let requestID = call.params["requestId"],
      let known = state.withLock({ state in
        state.flows.first { $0.value.start["requestId"] == requestID }?.key
      })
    {
      return try await peer.fail(call, Self.error("request_id_reused", flow: known))
    }
    try await react(to: call, peer) { snapshots in
      state.withLock { state in
        let id = "flw_\(state.flows.count + 1)"
        state.flows[id] = Progress(start: call.params, snapshots: snapshots)
        return id
      }
    }
  }

  private func submit(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    if status(of: call.flow) != "active" {
      return try await peer.fail(call, Self.error("flow_finished"))
    }
    let revision = state.withLock { $0.flows[call.flow]?.snapshots.count ?? 0 }
    guard call.revision == revision else {
      return try await peer.fail(call, Self.error("conflict"))
    }
    try await react(to: call, peer) { snapshots in
      try await append(snapshots, to: call.flow)
      return call.flow
    }
  }

  private func append(_ snapshots: [Snapshot], to id: String) async throws {
    state.withLock { $0.flows[id]?.snapshots.append(contentsOf: snapshots) }
    try await wake()
  }

  /// Answers the `flow.wait` calls whose flow has changed or is gone.
  private func wake() async throws {
    let ready = state.withLock { state in
      let revisions = state.flows.mapValues(\.snapshots.count)
      let isReady = { (call: FakeDaemon.Call) in
        revisions[call.flow, default: .max] > call.revision
      }
      defer { state.waiting.removeAll { isReady($0.call) } }
      return state.waiting.filter { isReady($0.call) }
    }
    for (call, peer) in ready {
      // A client that has disconnected asks again, so a failed reply is ignored.
      if status(of: call.flow) == nil {
        try? await peer.fail(call, Self.error("not_found", field: "flow"))
      } else {
        try? await peer.reply(call, try reply(call.flow, since: call.revision))
      }
    }
  }

  /// - Parameter since: The revision after which transitions are listed; nil for no transitions.
  private func reply(_ id: String, since: Int? = nil) throws -> String {
    let flow = try #require(state.withLock { $0.flows[id] })
    let last = try #require(flow.snapshots.last)
    let body = last.flow(id, flow.snapshots.count, of: flow.start)
    guard let since else { return #"{"flow":\#(body)}"# }
    let transitions = flow.snapshots.enumerated().dropFirst(since).map { index, snapshot in
      #"{"revision":\#(index + 1),"state":"\#(snapshot.state)","at":"2030-01-01T00:00:00Z"}"#
    }
    return #"{"flow":\#(body),"transitions":[\#(transitions.joined(separator: ","))]}"#
  }

  /// Lists the flows with the wanted provider, kind, key and status, newest first.
  private func list(_ params: JSONValue) -> String {
    let flows = state.withLock { $0.flows }.sorted { $0.key > $1.key }
    let fitting: [String] = flows.compactMap { id, flow in
      guard var bare = flow.snapshots.last,
        params["provider"] == nil || flow.start["provider"] == params["provider"],
        flow.start["kind"] == params["kind"],
        [nil, Snapshot.key(of: flow.start)].contains(params["key"]?.stringValue),
        [nil, bare.status].contains(params["status"]?.stringValue)
      else { return nil }
      (bare.step, bare.result) = ("null", "null")
      return bare.flow(id, flow.snapshots.count, of: flow.start)
    }
    return #"{"flows":[\#(fitting.joined(separator: ","))]}"#
  }
}

extension FakeDaemon.Call {
  fileprivate var flow: String { params["flow"]?.stringValue ?? "" }
  fileprivate var revision: Int { Int(params["revision"]?.integerValue ?? 0) }
}
