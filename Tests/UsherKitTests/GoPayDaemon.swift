import JSONRPC
import Synchronization
import Testing
import UsherTestKit

/// A fake daemon with scripted flows of kind `verify`.
final class GoPayDaemon: Sendable {
  /// The scripted reaction to `flow.start` or `flow.submit`.
  enum Answer: Sendable {
    case advances([GoPayFlowSnapshot])
    /// As ``advances(_:)``, but closes the connection without a reply.
    case advancesAndDisconnects([GoPayFlowSnapshot])
    /// As ``advances(_:)``, but replies only at ``GoPayDaemon/sendDelayedReplies()``.
    case advancesAndRepliesLater(GoPayFlowSnapshot)
    /// Closes the connection without any effect.
    case lost
    case refused(String)
  }

  private struct Played {
    var flows: [String: [GoPayFlowSnapshot]] = [:]
    var requestIDs: [String: String] = [:]
    var waiting: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer)] = []
    var delayedReplies: [(call: FakeDaemon.Call, peer: FakeDaemon.Peer, flow: String)] = []
    var starts: ArraySlice<Answer>
    var inputs: ArraySlice<Answer>
    var readsToDisconnect = 0
    var cancelled: GoPayFlowSnapshot?
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
  init(
    starts: [Answer], inputs: [Answer] = [], cancelled: GoPayFlowSnapshot? = .cancelled
  ) {
    played = Mutex(Played(starts: starts[...], inputs: inputs[...], cancelled: cancelled))
    (methodsHeard, calls) = AsyncStream.makeStream()
  }

  convenience init(_ snapshots: GoPayFlowSnapshot..., inputs: [Answer] = []) {
    self.init(starts: [.advances(snapshots)], inputs: inputs)
  }

  var methods: [String] { played.withLock { $0.heard.map(\.method) } }

  func params(of method: String) -> [JSONValue] {
    played.withLock { $0.heard.filter { $0.method == method }.map(\.params) }
  }

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
  func happens(_ snapshot: GoPayFlowSnapshot, to id: String = "flw_1") async throws {
    try await append([snapshot], to: id)
  }

  func sendDelayedReplies() async throws {
    let delayedReplies = played.withLock { $0.delayedReplies }
    for (call, peer, flow) in delayedReplies { try await peer.reply(call, try reply(flow)) }
  }

  /// Closes the connection at the next `count` reads of a flow.
  func disconnectReads(_ count: Int) { played.withLock { $0.readsToDisconnect = count } }

  private func answer(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer) async throws {
    let isLook = ["flow.wait", "flow.get", "rpc.cancel"].contains(call.method)
    if !isLook { played.withLock { $0.heard.append((call.method, call.params)) } }
    // Yields after the effect of the call, because tests rely on that order.
    defer { if !isLook { calls.yield(call.method) } }
    let id = call.params["flow"]?.stringValue ?? ""
    guard id.isEmpty || played.withLock({ $0.flows[id] != nil }) else {
      return try await peer.fail(call, Self.error("not_found", field: "flow"))
    }
    switch call.method {
    case "flow.start": try await start(call, peer)
    case "flow.get", "flow.wait": try await look(call, peer, id)
    case "flow.submit": try await submit(call, peer, id)
    case "flow.list": try await peer.reply(call, list())
    case "flow.cancel":
      guard let end = played.withLock({ $0.cancelled }) else { throw HungUp() }
      try await append([end], to: id)
      try await peer.reply(call, try reply(id))
    case "rpc.cancel": break
    default: Issue.record("nobody expected \(call.method)")
    }
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
    let requestID = call.params["requestId"]?.stringValue ?? ""
    if let known = played.withLock({ $0.requestIDs[requestID] }) {
      return try await peer.fail(call, Self.error("request_id_reused", flow: known))
    }
    switch played.withLock({ $0.starts.popFirst() }) {
    case .advances(let snapshots):
      let id = begin(snapshots.prefix(1), requestID)
      try await peer.reply(call, try reply(id))
      for snapshot in snapshots.dropFirst() { try await append([snapshot], to: id) }
    case .advancesAndDisconnects(let snapshots):
      _ = begin(snapshots[...], requestID)
      throw HungUp()
    case .advancesAndRepliesLater(let snapshot):
      let id = begin([snapshot], requestID)
      played.withLock { $0.delayedReplies.append((call, peer, id)) }
    case .refused(let error): try await peer.fail(call, error)
    case .lost: throw HungUp()
    case nil: Issue.record("nobody expected another start")
    }
  }

  private func begin(_ snapshots: ArraySlice<GoPayFlowSnapshot>, _ requestID: String) -> String {
    played.withLock { played in
      let id = "flw_\(played.flows.count + 1)"
      played.flows[id] = Array(snapshots)
      played.requestIDs[requestID] = id
      return id
    }
  }

  private func submit(_ call: FakeDaemon.Call, _ peer: FakeDaemon.Peer, _ id: String) async throws {
    let revision = played.withLock { $0.flows[id]?.count }
    guard call.params["revision"]?.integerValue == revision.map({ Int64($0) }) else {
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
    case .advancesAndRepliesLater, nil: Issue.record("nobody expected this input")
    }
  }

  private func append(_ snapshots: [GoPayFlowSnapshot], to id: String) async throws {
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

  private func list() -> String {
    let flows = played.withLock { $0.flows }.sorted { $0.key > $1.key }.compactMap { id, flow in
      flow.last.map { last in
        var bare = last
        bare.step = "null"
        return bare.flow(id, flow.count)
      }
    }
    return #"{"flows":[\#(flows.joined(separator: ","))]}"#
  }

  static func error(_ reason: String, field: String? = nil, flow: String? = nil) -> String {
    let field = field.map { #","field":"\#($0)""# } ?? ""
    let flow = flow.map { #","flow":"\#($0)""# } ?? ""
    return #"""
      {"code":-32602,"message":"why not","data":{"reason":"\#(reason)","retryable":false,\#
      "correlationId":"cor_1"\#(field)\#(flow)}}
      """#
  }
}
