import JSONRPC
import Synchronization
import Testing
import UsherTestKit

/// A fake daemon with scripted flows of kind `authorize`.
final class FreedomIDDaemon: Sendable {
  /// The scripted reaction to `flow.start` or `flow.submit`.
  enum Answer: Sendable {
    /// Moves the flow through these states, one revision each.
    case advances([FreedomIDFlowSnapshot])
    /// As ``advances(_:)``, but closes the connection without a reply.
    case advancesAndDisconnects([FreedomIDFlowSnapshot])
    /// As ``advances(_:)``, but replies only at ``FreedomIDDaemon/sendDelayedReplies()``.
    case advancesAndRepliesLater([FreedomIDFlowSnapshot])
    /// Closes the connection without any effect.
    case lost
    /// As ``lost``, but also closes the connection at the next reads of a flow.
    case lostWithReads(Int)
    case refused(String)
  }

  private struct Played {
    var flows: [String: [FreedomIDFlowSnapshot]] = [:]
    var waiting: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer)] = []
    var delayedReplies: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer, flow: String)] = []
    var starts: ArraySlice<Answer>
    var inputs: ArraySlice<Answer>
    var readsToDisconnect = 0
    var cancelled: FreedomIDFlowSnapshot?
    var cleared: ArraySlice<String>
    var heard: [(method: String, params: JSONValue)] = []
  }

  private let played: Mutex<Played>
  private let calls: AsyncStream<String>.Continuation
  /// Yields each method except `flow.wait`, `flow.get` and `rpc.cancel`, after its effect. For one
  /// reader.
  let methodsHeard: AsyncStream<String>

  private struct HungUp: Error {}

  /// - Parameters:
  ///   - starts: The reactions to `flow.start`, in order.
  ///   - inputs: The reactions to `flow.submit`, in order.
  ///   - cancelled: The state of a flow after `flow.cancel`. If nil, `flow.cancel` closes the
  ///     connection.
  ///   - cleared: The replies to `client.clear`, in order. Further calls close the connection.
  init(
    starts: [Answer], inputs: [Answer] = [], cancelled: FreedomIDFlowSnapshot? = .cancelled,
    cleared: [String] = []
  ) {
    played = Mutex(
      Played(
        starts: starts[...], inputs: inputs[...], cancelled: cancelled, cleared: cleared[...]))
    (methodsHeard, calls) = AsyncStream.makeStream()
  }

  convenience init(_ snapshots: FreedomIDFlowSnapshot..., inputs: [Answer] = []) {
    self.init(starts: [.advances(snapshots)], inputs: inputs)
  }

  var methods: [String] { played.withLock { $0.heard.map(\.method) } }

  func params(of method: String) -> [JSONValue] {
    played.withLock { $0.heard.filter { $0.method == method }.map(\.params) }
  }

  /// The submitted inputs, in order.
  var inputs: [JSONValue] { params(of: "flow.submit").compactMap { $0["input"] } }

  func run<Value: Sendable>(
    _ body: @Sendable (_ socketPath: String) async throws -> Value
  ) async throws -> Value {
    try await FakeDaemon.run { peer in
      while true { try await self.answer(try await peer.next(), peer) }
    } _: { daemon in
      try await body(daemon.path)
    }
  }

  /// Changes a flow without a call.
  func happens(_ snapshot: FreedomIDFlowSnapshot, to id: String = "flw_1") async throws {
    try await append([snapshot], to: id)
  }

  func sendDelayedReplies() async throws {
    let delayedReplies = played.withLock { $0.delayedReplies }
    for (call, peer, flow) in delayedReplies { try await peer.reply(call, try reply(flow)) }
  }

  /// Closes the connection at the next `count` reads of a flow.
  func disconnectReads(_ count: Int) { played.withLock { $0.readsToDisconnect = count } }

  static func error(_ reason: String, field: String? = nil) -> String {
    let field = field.map { #","field":"\#($0)""# } ?? ""
    return #"""
      {"code":-32602,"message":"why not","data":{"reason":"\#(reason)","retryable":false,\#
      "correlationId":"cor_1"\#(field)}}
      """#
  }
}

// MARK: - Answering

extension FreedomIDDaemon {
  private func answer(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let isLook = ["flow.wait", "flow.get", "rpc.cancel"].contains(call.method)
    if !isLook { played.withLock { $0.heard.append((call.method, call.params)) } }
    defer { if !isLook { calls.yield(call.method) } }
    let id = call.params["flow"]?.stringValue ?? ""
    switch call.method {
    case "flow.start": try await start(call, peer)
    case "flow.get", "flow.wait": try await look(call, peer, id)
    case "flow.submit": try await submit(call, peer, id)
    case "flow.cancel":
      guard let end = played.withLock({ $0.cancelled }) else { throw HungUp() }
      try await append([end], to: id)
      try await peer.reply(call, try reply(id))
    case "client.clear": try await clear(call, peer)
    case "rpc.cancel": break
    default: Issue.record("nobody expected \(call.method)")
    }
  }

  private func clear(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    guard let reply = played.withLock({ $0.cleared.popFirst() }) else { throw HungUp() }
    for (id, flow) in played.withLock({ $0.flows }) where flow.last?.status == "active" {
      try await append([.cancelled], to: id)
    }
    try await peer.reply(call, reply)
  }

  private func look(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer, _ id: String) async throws {
    let isLost = played.withLock { played in
      guard played.readsToDisconnect > 0 else { return false }
      played.readsToDisconnect -= 1
      return true
    }
    if isLost { throw HungUp() }
    if call.method == "flow.get" { return try await peer.reply(call, try reply(id)) }
    played.withLock { $0.waiting.append((call, peer)) }
    try await wake()
  }

  private func start(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    switch played.withLock({ $0.starts.popFirst() }) {
    case .advances(let snapshots): try await peer.reply(call, try reply(begin(snapshots)))
    case .advancesAndRepliesLater(let snapshots):
      let id = begin(snapshots)
      played.withLock { $0.delayedReplies.append((call, peer, id)) }
    case .refused(let error): try await peer.fail(call, error)
    case .lost: throw HungUp()
    case .advancesAndDisconnects, .lostWithReads, nil:
      Issue.record("nobody expected another start")
    }
  }

  private func begin(_ snapshots: [FreedomIDFlowSnapshot]) -> String {
    played.withLock { played in
      let id = "flw_\(played.flows.count + 1)"
      played.flows[id] = snapshots
      return id
    }
  }

  private func submit(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer, _ id: String) async throws {
    let flow = played.withLock { $0.flows[id] ?? [] }
    if flow.last?.status != "active" {
      return try await peer.fail(call, Self.error("flow_finished"))
    }
    guard call.params["revision"]?.integerValue == Int64(flow.count) else {
      return try await peer.fail(call, Self.error("conflict"))
    }
    switch played.withLock({ $0.inputs.popFirst() }) {
    case .advances(let snapshots):
      try await append(snapshots, to: id)
      try await peer.reply(call, try reply(id))
    case .advancesAndDisconnects(let snapshots):
      try await append(snapshots, to: id)
      throw HungUp()
    case .refused(let error): try await peer.fail(call, error)
    case .lost: throw HungUp()
    case .lostWithReads(let count):
      disconnectReads(count)
      throw HungUp()
    case .advancesAndRepliesLater, nil: Issue.record("nobody expected this input")
    }
  }

  private func append(_ snapshots: [FreedomIDFlowSnapshot], to id: String) async throws {
    played.withLock { $0.flows[id]?.append(contentsOf: snapshots) }
    try await wake()
  }

  private func wake() async throws {
    let ready = played.withLock { played in
      let lengths = played.flows.mapValues(\.count)
      let isReady = { (call: FakeDaemon.Call) in
        lengths[call.params["flow"]?.stringValue ?? "", default: 0]
          > Int(call.params["revision"]?.integerValue ?? 0)
      }
      defer { played.waiting.removeAll { isReady($0.call) } }
      return played.waiting.filter { isReady($0.call) }
    }
    for (call, peer) in ready {
      let reply = try reply(call.params["flow"]?.stringValue ?? "")
      // A client that has disconnected asks again, so a failed reply is ignored.
      try? await peer.reply(call, reply.dropLast() + #","transitions":[]}"#)
    }
  }

  private func reply(_ id: String) throws -> String {
    let flow = played.withLock { $0.flows[id] ?? [] }
    return #"{"flow":\#(try #require(flow.last).flow(id, flow.count))}"#
  }
}
