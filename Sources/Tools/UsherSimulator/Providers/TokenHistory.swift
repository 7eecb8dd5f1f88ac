import JSONRPC
import UsherCore
import UsherFlows
import UsherSandbox

/// A request to a provider that the history follows.
final class ProviderExchange: @unchecked Sendable {
  let number: Int
  /// The refresh token that the request presents; nil if it is no refresh.
  let presented: String?
  var isOpen = true
  /// Whether something between the daemon and the provider sends the request again.
  var isRepeated = false
  /// Whether the provider may have received the request.
  var mayHaveArrived = true
  /// What the provider issued in reply, if it processed the request.
  var issued: TokenHistory.Issue?

  init(number: Int, presented: String?) {
    self.number = number
    self.presented = presented
  }
}

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

  /// The time that may pass between the daemon's last write before a refresh and the refresh: it
  /// may have to ask for the provider's metadata.
  private static let mostTimeToSend: UInt64 = 60_000_000_000

  private let simulator: Simulator
  /// Returns the present state of the machine's clocks.
  var clock: () -> MachineClock = { MachineClock(boot: 1, error: .zero) }
  /// Returns whether somebody asked, at the given time or later, to end the sign-in of an account.
  var wasEndAskedFor: (_ account: String, _ since: UInt64) -> Bool = { _, _ in false }
  /// Returns since when the disk has accepted nothing; nil if it may accept something.
  var diskRefusesSince: () -> UInt64? = { nil }
  private var accessTokens: [String: Issue] = [:]
  private var refreshTokens: [String: Grant] = [:]
  private(set) var grants: [Grant] = []
  private var presentations: [String: Presentation] = [:]
  private(set) var refreshes = 0
  /// Tokens of providers that issue one for each sign-in and refresh none.
  private var otherTokens: Set<String> = []
  /// The requests that presented an authorization code.
  private var codes: [String: ProviderExchange] = [:]

  init(_ simulator: Simulator) { self.simulator = simulator }

  /// Follows a request that the daemon sends.
  func begin(_ number: Int, _ request: HTTPRequest) -> ProviderExchange {
    let form = (request.body?.revealed() ?? "").split(separator: "&")
    let fields = Dictionary(
      form.map { $0.split(separator: "=", maxSplits: 1) }
        .map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }
    ) { first, _ in first }
    let isRefresh = fields["grant_type"] == "refresh_token"
    let exchange = ProviderExchange(
      number: number, presented: isRefresh ? fields["refresh_token"] : nil)
    if let token = exchange.presented { present(token, number) }
    if let code = fields["code"], let other = codes.updateValue(exchange, forKey: code),
      other.mayHaveArrived
    {
      simulator.fail("the requests \(other.number) and \(number) present the same code")
    }
    if request.url.hasSuffix("/revoke") {
      let token = fields["token"] ?? ""
      if let grant = refreshTokens[token] ?? accessTokens[token]?.grant { revoke(grant, number) }
    }
    return exchange
  }

  /// Records that the daemon ends a grant at the provider. It has a reason if nothing of the grant
  /// was handed out, because the sign-in may have failed, if a later sign-in has replaced the
  /// grant, or if somebody asked for it.
  private func revoke(_ grant: Grant, _ number: Int) {
    let newest = grants.last { $0.account == grant.account && $0.isKnown }
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
    if let since = diskRefusesSince(), since + Self.mostTimeToSend <= simulator.now {
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
    let body = try? JSONValue(parsing: reply.body)
    if let token = body?["accessToken"]?.stringValue { otherTokens.insert(token) }
    if reply.status == 400, let token = exchange.presented, let grant = refreshTokens[token],
      !grant.mayBeUnusable
    {
      simulator.fail(
        "the provider refuses a refresh of \(grant.account), which lost no reply and was not "
          + "revoked: \(body?["error_description"]?.stringValue ?? "")")
    }
    guard reply.status == 200, let body, let accessToken = body["access_token"]?.stringValue,
      let seconds = body["expires_in"]?.integerValue
    else { return }
    let grant: Grant
    if let token = exchange.presented, let known = refreshTokens[token] {
      grant = known
    } else if let subject = Self.subject(body["id_token"]?.stringValue) {
      grant = Grant(account: String(subject.dropFirst("usr_".count)), begin: simulator.now)
      grants.append(grant)
    } else {
      return simulator.fail("reply \(exchange.number) has tokens of no known grant")
    }
    let refreshToken = body["refresh_token"]?.stringValue
    let issue = Issue(
      accessToken: accessToken, refreshToken: refreshToken, begin: simulator.now,
      end: simulator.now + UInt64(seconds) * 1_000_000_000, grant: grant,
      generation: grant.generations, clock: clock())
    grant.generations += 1
    accessTokens[accessToken] = issue
    if let refreshToken {
      refreshTokens[refreshToken] = grant
      grant.refreshToken = refreshToken
    }
    exchange.issued = issue
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
    if case .unreachable(_, sent: false) = outcome { exchange.mayHaveArrived = false }
    let isDelivered =
      if case .reply(let reply) = outcome {
        reply.status == 200 && (try? JSONValue(parsing: reply.body)) != nil
      } else { false }
    guard let issue = exchange.issued else {
      if let token = exchange.presented { presentations[token] = .mayRepeat }
      return true
    }
    if let token = exchange.presented {
      let isReplaced = isDelivered && issue.refreshToken != nil
      presentations[token] = isReplaced ? .replaced(by: exchange.number, issue) : .mayRepeat
    }
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
        issue.grant.newestHandedOut(at: .max) < issue.generation
      {
        presentations[token] = .mayRepeat
      }
    }
  }

  /// Whether the daemon may have no usable token of an account, although someone signed in: tokens
  /// were lost on their way, or revoked.
  func isExcused(_ account: String) -> Bool {
    let known = grants.filter { $0.account == account && $0.isKnown }
    // The daemon has one of the last sign-in that it has handed out a token of, and of later ones.
    let first = known.lastIndex(where: \.wasHandedOut) ?? 0
    return known.dropFirst(first).contains(where: \.mayBeUnusable)
  }

  func isOfOtherProvider(_ accessToken: String) -> Bool { otherTokens.contains(accessToken) }

  /// Returns what is known about an access token.
  func issue(of accessToken: String) -> Issue? { accessTokens[accessToken] }

  /// Returns the `sub` claim of an ID token, without checking the token.
  private static func subject(_ idToken: String?) -> String? {
    guard let part = idToken?.split(separator: ".").dropFirst().first else { return nil }
    var text = part.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    let claims = try? JSONValue(parsing: Base64.decoded(String(text)) ?? [])
    return claims?["sub"]?.stringValue
  }
}
