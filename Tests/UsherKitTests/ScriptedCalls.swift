import JSONRPC
import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// An expected call and the daemon's reaction to it.
struct Turn: Sendable {
  let method: String
  let params: JSONValue
  let answer: Answer

  enum Answer: Sendable {
    case result(String)
    case error(String)
    /// Closes the connection without a reply.
    case hangUp
  }

  static func ask(_ method: String, _ params: JSONValue, _ result: String) -> Turn {
    Turn(method: method, params: params, answer: .result(result))
  }

  static func refuse(_ method: String, _ params: JSONValue, _ error: String) -> Turn {
    Turn(method: method, params: params, answer: .error(error))
  }

  static func hangUp(_ method: String, _ params: JSONValue) -> Turn {
    Turn(method: method, params: params, answer: .hangUp)
  }
}

/// Runs a fake daemon that expects exactly these calls, in this order.
func playing<Value>(
  _ turns: [Turn], _ body: (_ socketPath: String) async throws -> Value
) async throws -> Value {
  let rest = Rest(turns)
  return try await FakeDaemon.run { peer in
    while true {
      let call = try await peer.next()
      guard call.method != "rpc.cancel" else { continue }
      guard let turn = rest.next() else {
        Issue.record("unexpected call of \(call.method)")
        return
      }
      #expect(call.method == turn.method)
      #expect(call.comparableParams == turn.params, "in \(call.method)")
      switch turn.answer {
      case .result(let result): try await peer.reply(call, result)
      case .error(let error): try await peer.fail(call, error)
      case .hangUp: return
      }
    }
  } _: { daemon in
    let value = try await body(daemon.path)
    #expect(rest.methods == [], "these expected calls were not made")
    return value
  }
}

/// Runs `body` with a wallet whose daemon expects exactly these calls, in this order.
func wallet<Value>(
  _ turns: [Turn], _ body: (Wallet) async throws -> Value
) async throws -> Value {
  try await playing(turns) { path in try await body(Wallet(socketPath: path)) }
}

/// Returns the error that a wallet call throws.
func walletError<Value>(
  _ turns: [Turn], _ call: (Wallet) async throws -> Value
) async throws -> WalletError {
  try await wallet(turns) { wallet in
    try #require(await #expect(throws: WalletError.self) { _ = try await call(wallet) })
  }
}

extension WalletError {
  /// The name of the case.
  var caseName: String { Mirror(reflecting: self).children.first?.label ?? "" }
}

private final class Rest: Sendable {
  private let turns: Mutex<ArraySlice<Turn>>

  init(_ turns: [Turn]) { self.turns = Mutex(turns[...]) }

  var methods: [String] { turns.withLock { $0.map(\.method) } }

  func next() -> Turn? { turns.withLock { $0.popFirst() } }
}

extension FakeDaemon.Call {
  /// The parameters without the request id, which is random.
  fileprivate var comparableParams: JSONValue {
    guard case .object(var members) = params else { return params }
    members["requestId"] = nil
    return .object(members)
  }
}
