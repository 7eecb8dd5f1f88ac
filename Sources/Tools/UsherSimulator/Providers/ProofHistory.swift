/// Checks the proofs that the daemon has the key to which tokens are bound (RFC 9449), and the
/// assertions with which it authenticates itself (RFC 7523).
final class ProofHistory: @unchecked Sendable {
  private let simulator: Simulator
  private var usedIDs: Set<String> = []

  init(_ simulator: Simulator) { self.simulator = simulator }

  /// Checks a request that the daemon sends.
  ///
  /// - Parameter grant: The grant whose token the request presents; nil if it presents none.
  func begin(_ exchange: ProviderExchange, presenting grant: Grant?) {
    guard exchange.wire?.prefix == OpenIDWire().prefix else { return }
    for token in exchange.request.singleUseTokens {
      use(token, of: "request \(exchange.number)")
    }
    // A revocation needs no proof (RFC 7009 §2.1).
    guard let grant, let key = grant.key, !exchange.request.path.hasSuffix("/revoke") else {
      return
    }
    let name = "request \(exchange.number) presents a token of \(grant.account)"
    if exchange.request.bearer != nil {
      simulator.fail("\(name), which is bound to a key, as a Bearer token")
    }
    if exchange.request.proof?.key != key {
      simulator.fail("\(name) without a proof by the key to which it is bound")
    }
  }

  /// Checks that nobody has used a proof or assertion before.
  func use(_ token: UnverifiedToken, of user: String) {
    guard let id = token.id, usedIDs.insert(id).inserted else {
      return simulator.fail("\(user) has a proof or assertion without id, or a second time")
    }
  }

  /// Records the key to which a provider binds the tokens that it issues.
  func bind(_ grant: Grant, _ exchange: ProviderExchange) {
    guard let key = exchange.request.proof?.key else {
      return simulator.fail(
        "request \(exchange.number) gets tokens of \(grant.account) that are bound to no key")
    }
    grant.key = grant.key ?? key
  }
}
