import UsherFlows

/// Checks that no poll for the tokens of a person who decides elsewhere is too early (RFC 8628
/// §3.5, CIBA Core §11).
final class PollHistory: @unchecked Sendable {
  private struct Polling {
    /// The seconds between two polls.
    let interval: Int64
    /// When the provider issued the code, or the last poll was sent, in nanoseconds of the
    /// simulation.
    var last: UInt64
    /// Whether the last poll is to be sent again at once, because its proof lacked the nonce.
    var lacksNonce = false
  }

  private let simulator: Simulator
  private var pollings: [String: Polling] = [:]

  init(_ simulator: Simulator) { self.simulator = simulator }

  /// Records the code with which a reply lets the daemon poll.
  func record(_ new: (code: String, interval: Int64)?) {
    guard let new else { return }
    pollings[new.code] = Polling(interval: new.interval, last: simulator.now)
  }

  /// Checks a request that the daemon sends, if it is a poll.
  func begin(_ exchange: ProviderExchange) {
    guard let code = exchange.wire?.polledCode(exchange.request), let polling = pollings[code]
    else { return }
    let pause = simulator.now - polling.last
    if pause < UInt64(polling.interval) * 1_000_000_000, !polling.lacksNonce {
      simulator.fail(
        "request \(exchange.number) is a poll \(pause / 1_000_000) ms after the last one, at an "
          + "interval of \(polling.interval) s")
    }
    pollings[code]?.last = simulator.now
    pollings[code]?.lacksNonce = false
  }

  /// Records how a request has ended for the daemon.
  func end(_ exchange: ProviderExchange) {
    guard let code = exchange.wire?.polledCode(exchange.request),
      case .reply(let reply)? = exchange.outcome
    else { return }
    pollings[code]?.lacksNonce = reply.demandsDPoPNonce
  }
}
