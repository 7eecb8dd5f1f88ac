import UsherFlows

/// Checks that the daemon does not repeat a request that it must not repeat.
///
/// A provider may have performed a request whose reply was lost: a payment, a message with a code,
/// a check of a code, which counts. So each is sent once, or once for each time that a person asks,
/// unless it certainly did not arrive, or the provider answered that it was not performed.
final class SingleRequests {
  private let simulator: Simulator
  private var asks: [String: Int] = [:]
  private var sent: [String: [ProviderExchange]] = [:]

  init(_ simulator: Simulator) { self.simulator = simulator }

  /// Records that a person asks for requests.
  func ask(for names: [String]) {
    for name in names { asks[name, default: 0] += 1 }
  }

  /// Records that the daemon did not accept what a person asked for.
  func withdraw(_ names: [String]) {
    for name in names { asks[name, default: 0] -= 1 }
  }

  /// Records a request that the daemon sends.
  func begin(_ exchange: ProviderExchange) {
    guard let single = exchange.single else { return }
    let before = (sent[single.name] ?? []).filter { $0.mayHaveBeenPerformed(before: single) }
    let limit = single.isAsked ? asks[single.name] ?? 0 : 1
    if before.count >= limit {
      let numbers = before.map { "\($0.number)" }.joined(separator: " and ")
      simulator.fail(
        "request \(exchange.number) is sent although nobody asked for more: \(single.name); before "
          + "it: \(before.isEmpty ? "none" : numbers)")
    }
    sent[single.name, default: []].append(exchange)
  }
}

extension ProviderExchange {
  /// Whether a request counts, so that another one for the same purpose would repeat it.
  fileprivate func mayHaveBeenPerformed(before next: SingleRequest) -> Bool {
    guard mayHaveArrived, let single else { return false }
    if let key = single.idempotencyKey, key == next.idempotencyKey { return false }
    if single.isInquired { return wasPerformed }
    guard case .reply(let reply)? = outcome else { return true }
    if single.refusals.contains(reply.status) || reply.demandsDPoPNonce { return false }
    return !(single.postponements.contains(reply.status) && reply.headers["retry-after"] != nil)
  }
}
