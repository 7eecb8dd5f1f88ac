import JSONRPC
import UsherFlows
import UsherSandbox

/// What really happened to tokens, read at the network between the daemon and the providers.
final class TokenHistory: @unchecked Sendable {
  struct Issue {
    let accessToken: String
    let refreshToken: String?
    /// The times, in nanoseconds of the simulation, at which the access token was issued and ends.
    let begin: UInt64
    let end: UInt64
    let grant: Grant
    /// The position in the sequence of the grant's access tokens, from 0.
    let generation: Int
    /// The machine's boot and the error of its wall clock when the token was issued.
    let clock: MachineClock
    /// Whether the reply says the end as a time, which a machine with a wrong clock misunderstands.
    let isEndATime: Bool
    /// The audience for which the token was requested; nil if for none.
    let audience: String?
    /// Whether the token was issued in exchange for another one of the grant. Its generation then
    /// counts such tokens only.
    let isExchanged: Bool
  }

  /// An ID token that a provider issued.
  struct IDTokenIssue {
    let grant: Grant
    /// The time, in nanoseconds of the simulation, at which the token ends.
    let end: UInt64
    let clock: MachineClock
  }

  struct MachineClock: Equatable {
    var boot: Int
    var error: Duration
  }

  /// Why a refresh token may be presented again, or that it may not.
  private enum Presentation {
    case open(Int)
    case mayRepeat
    case replaced(by: Int, Issue)
  }

  /// The time in nanoseconds that may pass between the write before a refresh and the refresh: it
  /// may have to ask for the provider's metadata.
  var mostTimeToSend: UInt64 = 60_000_000_000

  private let simulator: Simulator
  /// Returns the present state of the machine's clocks.
  var clock: () -> MachineClock = { MachineClock(boot: 1, error: .zero) }
  /// Returns whether somebody asked, at the given time or later, to end the sign-in of an account.
  var wasEndAskedFor: (_ account: String, _ since: UInt64) -> Bool = { _, _ in false }
  /// Returns since when the disk has accepted nothing; nil if it may accept something.
  var diskRefusesSince: () -> UInt64? = { nil }
  private var accessTokens: [String: Issue] = [:]
  private var idTokens: [String: IDTokenIssue] = [:]
  private var refreshTokens: [String: Grant] = [:]
  private(set) var grants: [Grant] = []
  private var presentations: [String: Presentation] = [:]
  private(set) var refreshes = 0
  /// The newest grant of what has one sign-in at a time.
  private var ties: [String: Grant] = [:]
  /// Everything else that the providers issued.
  let provided = ProvidedValues()
  let singles: SingleRequests
  let proofs: ProofHistory
  let polls: PollHistory
  /// Returns whether the machine's wall clock was ever wrong.
  var wasClockSet: () -> Bool = { false }

  init(_ simulator: Simulator) {
    self.simulator = simulator
    singles = SingleRequests(simulator)
    proofs = ProofHistory(simulator)
    polls = PollHistory(simulator)
  }

  /// Follows a request that the daemon sends.
  func begin(_ number: Int, _ request: HTTPRequest) -> ProviderExchange {
    let exchange = ProviderExchange(number, WireRequest(request), provided)
    if let token = exchange.presented { present(token, number) }
    singles.begin(exchange)
    proofs.begin(exchange, presenting: grant(presentedBy: exchange))
    polls.begin(exchange)
    if let token = exchange.wire?.revokedToken(exchange.request),
      let grant = refreshTokens[token] ?? accessTokens[token]?.grant
    {
      revoke(grant, number)
    }
    return exchange
  }

  /// Returns the grant whose token a request presents; nil if it presents none that is known.
  private func grant(presentedBy exchange: ProviderExchange) -> Grant? {
    if let token = exchange.presented { return refreshTokens[token] }
    let request = exchange.request
    let token = exchange.exchanged ?? request.bearer ?? request.dpopToken
    return token.flatMap { accessTokens[$0]?.grant }
  }

  /// Records that the daemon ends a grant at the provider. It has a reason if nothing of the grant
  /// was handed out, because the sign-in may have failed, if a later sign-in has replaced the
  /// grant, or if somebody asked for it.
  private func revoke(_ grant: Grant, _ number: Int) {
    let newest = grants.last {
      $0.provider == grant.provider && $0.account == grant.account && $0.isKnown
    }
    if newest === grant, grant.wasHandedOut, !grant.isRevoked,
      !wasEndAskedFor(grant.account, grant.begin)
    {
      simulator.fail(
        "request \(number) revokes the sign-in of \(grant.account), for which nobody asked")
    }
    grant.revoke()
  }

  private func present(_ token: String, _ number: Int) {
    refreshes += 1
    if let since = diskRefusesSince(), since + mostTimeToSend <= simulator.now {
      simulator.fail(
        "request \(number) is a refresh, whose result cannot be stored: the disk has accepted "
          + "nothing for \((simulator.now - since) / 1_000_000_000) s")
    }
    switch presentations[token] {
    case .open(let other):
      simulator.fail("one refresh token is in the requests \(other) and \(number) at the same time")
    case .replaced(let other, _):
      simulator.fail(
        "request \(number) presents a refresh token that the reply to request \(other) replaced")
    case .mayRepeat, nil: break
    }
    presentations[token] = .open(number)
  }

  /// Records what the provider answered, whether or not the daemon receives it.
  func processed(_ exchange: ProviderExchange, _ reply: Reply) {
    let body = (try? JSONValue(parsing: reply.body)) ?? .null
    if [400, 401].contains(reply.status), let token = exchange.presented,
      let grant = refreshTokens[token], !grant.mayBeUnusable, !isAboutProof(body["error"])
    {
      simulator.fail(
        "the provider refuses a refresh of \(grant.account), which lost no reply and was not "
          + "revoked: \(body["error_description"]?.stringValue ?? "")")
    }
    guard 200..<300 ~= reply.status, let wire = exchange.wire else { return }
    exchange.wasPerformed = true
    wire.record(exchange.request, body, in: provided)
    polls.record(wire.newPolling(body))
    if let tokens = wire.newTokens(exchange.request, body, provided) {
      issue(tokens, exchange, wire)
    }
  }

  /// Whether an error refuses the proof of a request, and says nothing about the grant: the proof
  /// lacks the present nonce, or the machine's clock was wrong.
  private func isAboutProof(_ error: JSONValue?) -> Bool {
    error == "use_dpop_nonce" || error == "invalid_dpop_proof" && wasClockSet()
  }

  private func issue(_ tokens: NewTokens, _ exchange: ProviderExchange, _ wire: any ProviderWire) {
    let grant: Grant
    let isExchanged = exchange.exchanged != nil
    if let token = exchange.presented, let known = refreshTokens[token] {
      grant = known
    } else if let token = exchange.exchanged, let known = accessTokens[token]?.grant {
      grant = known
    } else if let subject = tokens.subject {
      grant = Grant(
        provider: wire.realm(exchange.request), account: SandboxAccount.name(of: subject),
        begin: simulator.now)
      grants.append(grant)
      if let tie = tokens.tie { ties.updateValue(grant, forKey: tie)?.revoke() }
    } else {
      return simulator.fail("reply \(exchange.number) has tokens of no known grant")
    }
    if wire.bindsTokens(exchange.request) { proofs.bind(grant, exchange) }
    let issue = Issue(
      accessToken: tokens.accessToken, refreshToken: tokens.refreshToken, begin: simulator.now,
      end: simulator.now + UInt64(tokens.seconds) * 1_000_000_000, grant: grant,
      generation: isExchanged ? grant.exchanges : grant.generations, clock: clock(),
      isEndATime: tokens.isEndATime, audience: tokens.audience, isExchanged: isExchanged)
    if isExchanged { grant.exchanges += 1 } else { grant.generations += 1 }
    accessTokens[tokens.accessToken] = issue
    if let token = tokens.idToken {
      idTokens[token.text] = IDTokenIssue(
        grant: grant, end: simulator.now + UInt64(token.seconds) * 1_000_000_000, clock: clock())
    }
    if let token = tokens.refreshToken {
      refreshTokens[token] = grant
      grant.refreshToken = token
    }
    exchange.issued = issue
    // An exchange changes nothing of the grant, whatever becomes of its reply.
    guard !isExchanged else { return }
    if exchange.isRepeated { grant.revoke() }
    if !exchange.isOpen { grant.lose(issue.generation) }
  }

  /// Records that something between the daemon and the provider sends a request again, and the
  /// daemon receives only one of the replies.
  ///
  /// The provider then ends the grant: the second request reuses a refresh token or a code.
  func isSentTwice(_ exchange: ProviderExchange) {
    exchange.isRepeated = true
    if let token = exchange.presented { refreshTokens[token]?.revoke() }
  }

  /// Records how a request ended for the daemon.
  ///
  /// - Returns: False if it had ended before.
  func end(_ exchange: ProviderExchange, _ outcome: CallOutcome) -> Bool {
    guard exchange.isOpen else { return false }
    exchange.isOpen = false
    exchange.outcome = outcome
    polls.end(exchange)
    if case .unreachable(_, sent: false) = outcome { exchange.mayHaveArrived = false }
    let isDelivered =
      if case .reply(let reply) = outcome {
        200..<300 ~= reply.status && (try? JSONValue(parsing: reply.body)) != nil
      } else { false }
    guard let issue = exchange.issued else {
      if let token = exchange.presented { presentations[token] = .mayRepeat }
      return true
    }
    if let token = exchange.presented {
      let isReplaced = isDelivered && issue.refreshToken != nil
      presentations[token] = isReplaced ? .replaced(by: exchange.number, issue) : .mayRepeat
    }
    if issue.isExchanged { return true }
    if isDelivered {
      issue.grant.deliver(issue.generation)
    } else {
      issue.grant.lose(issue.generation)
    }
    return true
  }

  /// Records that the daemon was killed: it may not have stored the last replies.
  func daemonWasKilled() {
    for grant in grants { grant.daemonWasKilled() }
    for (token, presentation) in presentations {
      if case .replaced(_, let issue) = presentation,
        issue.grant.newestHandedOut < issue.generation
      {
        presentations[token] = .mayRepeat
      }
    }
  }

  /// Whether the daemon may have no usable token of an account, although someone signed in: tokens
  /// were lost on their way, or revoked.
  func isExcused(_ account: String, at provider: String = "/oidc") -> Bool {
    let known = grants.filter {
      $0.account == account && $0.provider == provider && $0.isKnown
    }
    // The daemon has one of the last sign-in that it has handed out a token of, and of later ones.
    let first = known.lastIndex(where: \.wasHandedOut) ?? 0
    return known.dropFirst(first).contains(where: \.mayBeUnusable)
  }

  /// Returns the time of the newest sign-in of an account; 0 if there was none.
  func lastSignIn(_ account: String, at provider: String) -> UInt64 {
    accessTokens.values.filter {
      $0.grant.account == account && $0.grant.provider == provider && $0.generation == 0
        && !$0.isExchanged
    }.map(\.begin).max() ?? 0
  }

  /// Returns what is known about an access token.
  func issue(of accessToken: String) -> Issue? { accessTokens[accessToken] }

  /// Returns what is known about an ID token.
  func issue(ofIDToken idToken: String) -> IDTokenIssue? { idTokens[idToken] }
}
