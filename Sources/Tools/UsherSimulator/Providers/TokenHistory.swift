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
    /// The time at which the access token ends, in nanoseconds of the simulation.
    let end: UInt64
    let grant: Grant
    /// The position in the sequence of the grant's access tokens, from 0.
    let generation: Int
  }

  /// A user's sign-in and the tokens that come from it.
  final class Grant {
    /// The account at the provider: `user1001-1`.
    let account: String
    var generations = 0
    /// Whether the daemon did not receive a reply of the provider that had new tokens, so that it
    /// cannot know the newest refresh token.
    var hasLostReply = false
    /// The newest generation that the daemon had handed out, with the time, in ascending order.
    private var handedOut: [(time: UInt64, generation: Int)] = []

    init(account: String) { self.account = account }

    func handOut(_ generation: Int, at time: UInt64) {
      guard generation > handedOut.last?.generation ?? -1 else { return }
      handedOut.append((time, generation))
    }

    /// Returns the newest generation that had been handed out at a time; -1 if none had.
    func newestHandedOutAt(_ time: UInt64) -> Int {
      handedOut.last { $0.time < time }?.generation ?? -1
    }
  }

  /// Why a refresh token may be presented again, or that it may not.
  private enum Presentation {
    case open(Int)
    case mayRepeat
    case replaced(by: Int)
  }

  private let simulator: Simulator
  private var accessTokens: [String: Issue] = [:]
  private var refreshTokens: [String: Grant] = [:]
  private var grants: [Grant] = []
  private var presentations: [String: Presentation] = [:]
  private(set) var refreshes = 0

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
    return exchange
  }

  private func present(_ token: String, _ number: Int) {
    refreshes += 1
    switch presentations[token] {
    case .open(let other):
      simulator.fail("one refresh token is in the requests \(other) and \(number) at the same time")
    case .replaced(let other):
      simulator.fail(
        "request \(number) presents a refresh token that the reply to request \(other) replaced")
    case .mayRepeat, nil: break
    }
    presentations[token] = .open(number)
  }

  /// Records what the provider answered, whether or not the daemon receives it.
  func processed(_ exchange: ProviderExchange, _ reply: Reply) {
    guard reply.status == 200, let body = try? JSONValue(parsing: reply.body),
      let accessToken = body["access_token"]?.stringValue,
      let seconds = body["expires_in"]?.integerValue
    else { return }
    let grant: Grant
    if let token = exchange.presented, let known = refreshTokens[token] {
      grant = known
    } else if let subject = Self.subject(body["id_token"]?.stringValue) {
      grant = Grant(account: String(subject.dropFirst("usr_".count)))
      grants.append(grant)
    } else {
      return simulator.fail("reply \(exchange.number) has tokens of no known grant")
    }
    let refreshToken = body["refresh_token"]?.stringValue
    let issue = Issue(
      accessToken: accessToken, refreshToken: refreshToken,
      end: simulator.now + UInt64(seconds) * 1_000_000_000, grant: grant,
      generation: grant.generations)
    grant.generations += 1
    accessTokens[accessToken] = issue
    if let refreshToken { refreshTokens[refreshToken] = grant }
    exchange.issued = issue
    if !exchange.isOpen { grant.hasLostReply = true }
  }

  /// Records how a request ended for the daemon.
  ///
  /// - Returns: False if it had ended before.
  func end(_ exchange: ProviderExchange, _ outcome: CallOutcome) -> Bool {
    guard exchange.isOpen else { return false }
    exchange.isOpen = false
    let isDelivered =
      if case .reply(let reply) = outcome {
        reply.status == 200 && (try? JSONValue(parsing: reply.body)) != nil
      } else { false }
    if let token = exchange.presented {
      presentations[token] =
        isDelivered && exchange.issued?.refreshToken != nil
        ? .replaced(by: exchange.number) : .mayRepeat
    }
    if !isDelivered { noteLoss(exchange) }
    return true
  }

  private func noteLoss(_ exchange: ProviderExchange) {
    if let token = exchange.presented { refreshTokens[token]?.hasLostReply = true }
    exchange.issued?.grant.hasLostReply = true
  }

  /// Whether the daemon may have no usable token of an account: a reply with new tokens was lost.
  func isExcused(_ account: String) -> Bool {
    grants.contains { $0.account == account && $0.hasLostReply }
  }

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
