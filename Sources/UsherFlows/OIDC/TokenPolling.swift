import UsherAPI
import UsherConfig
import UsherCore

/// A provider's answer to a request that the user decides about elsewhere: on another device (RFC
/// 8628), or on a device that the provider knows (CIBA).
protocol PolledAuthorization: Codable, Sendable, Equatable {
  var expiresAt: Timestamp { get }
  /// Seconds between two polls.
  var interval: Int { get }

  /// Returns the call that asks for the tokens.
  func poll(_ metadata: OIDCMetadata) -> OIDCCall
}

/// The polls for the tokens while the user decides elsewhere.
struct TokenPolling<Authorization: PolledAuthorization>: Codable, Sendable, Equatable {
  let metadata: OIDCMetadata
  let authorization: Authorization
  /// The time between two polls in seconds. It never decreases during a flow.
  var interval: Int
  /// Whether a poll is in progress; false while the flow waits for the next one.
  var isAsking = false
  /// Whether the reply to a poll was lost. That reply may have contained the tokens; then the
  /// provider has invalidated the authorization.
  var isDoubtful = false

  private enum CodingKeys: String, CodingKey {
    case metadata
    // The name in the stored flows of earlier versions, which polled for devices only.
    case authorization = "device"
    case interval, isAsking, isDoubtful
  }

  init(_ metadata: OIDCMetadata, _ authorization: Authorization) {
    self.metadata = metadata
    self.authorization = authorization
    interval = authorization.interval
  }

  /// The same polling after a reply which shows that the authorization is not spent, because the
  /// user has not finished.
  var unspent: TokenPolling { copy(self) { $0.isDoubtful = false } }

  func markedDoubtful(_ doubts: Bool) -> TokenPolling {
    copy(self) { $0.isDoubtful = isDoubtful || doubts }
  }
}

/// A flow that polls for the tokens until the user has decided elsewhere (RFC 8628 §3.5, CIBA Core
/// §11).
protocol TokenPollingMachine: DiscoveringMachine {
  associatedtype Authorization: PolledAuthorization

  var provider: Provider<OIDCSettings> { get }
  /// The scope that was requested.
  var scope: String { get }
  /// The key to which the provider binds the tokens; nil if it binds them to none.
  var dpopKey: Sealed<Secret>? { get }

  /// Enters the state in which the flow waits for the user.
  mutating func wait(_ polling: TokenPolling<Authorization>)
  /// Continues with the tokens.
  mutating func signIn(_ tokens: TokenSet, _ metadata: OIDCMetadata) -> Answer<OIDCCall>
  /// Requests another authorization, because a lost reply contained the tokens of this one.
  mutating func requestAnew(_ metadata: OIDCMetadata) -> Answer<OIDCCall>
}

/// The upper limit, in seconds, of an interval that is doubled after timeouts. An interval that the
/// provider asks for may be longer.
private let maxDoubledInterval = 60

extension TokenPollingMachine {
  /// Waits for the next poll.
  ///
  /// - Parameter requested: The delay that the provider asks for; nil for the usual interval.
  mutating func show(
    _ polling: TokenPolling<Authorization>, problem: Problem? = nil,
    after requested: Duration? = nil
  ) -> Answer<OIDCCall> {
    wait(copy(polling) { $0.isAsking = false })
    self.problem = problem
    return .proceed([.wake(after: max(.seconds(polling.interval), requested ?? .zero))])
  }

  mutating func polling(
    _ event: FlowEvent<OIDCCall>, _ polling: TokenPolling<Authorization>, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    let poll = polling.authorization.poll(polling.metadata).bound(to: dpopKey)
    switch event {
    case .woken where !polling.isAsking:
      guard now < polling.authorization.expiresAt else {
        return .fail(.expired(ProviderErrorCode(name: provider.name, code: "expired_token")))
      }
      wait(copy(polling) { $0.isAsking = true })
      return .proceed([.call(poll)])
    case .provider(.called(poll, let outcome)) where polling.isAsking:
      return answered(outcome, polling, now)
    // After a restart the poll is repeated, because its reply may be lost.
    case .daemon(.resumed): return show(polling.markedDoubtful(polling.isAsking), problem: problem)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func answered(
    _ outcome: CallOutcome, _ polling: TokenPolling<Authorization>, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    switch outcome {
    case .reply(let reply):
      let request = TokenRequest(provider, scope: scope)
      return answered(TokenReply(reply, to: request, at: now), polling)
    case .unreachable(let message, let sent): return slowDown(polling.markedDoubtful(sent), message)
    case .unreadable(let message), .noToken(let message): return .fail(.protocolError(message))
    }
  }

  private mutating func answered(
    _ reply: TokenReply, _ polling: TokenPolling<Authorization>
  ) -> Answer<OIDCCall> {
    switch reply {
    case .granted(let tokens): return signIn(tokens, polling.metadata)
    case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
      return refused(errorCode, polling)
    case .retry(let message, let after):
      return slowDown(polling.markedDoubtful(true), message, after: after)
    case .unreadable(let message): return .fail(.protocolError(message))
    }
  }

  /// Handles the error code in the reply to a poll (RFC 8628 §3.5, CIBA Core §11).
  private mutating func refused(
    _ errorCode: ProviderErrorCode, _ polling: TokenPolling<Authorization>
  ) -> Answer<OIDCCall> {
    switch errorCode.code {
    case "authorization_pending": return show(polling.unspent)
    // The provider asks for five seconds more between all further polls.
    case "slow_down": return show(copy(polling.unspent) { $0.interval += 5 })
    case "access_denied": return .fail(.denied(errorCode))
    case "expired_token": return .fail(.expired(errorCode))
    case "invalid_grant" where polling.isDoubtful: return requestAnew(polling.metadata)
    default: return .fail(.rejected(errorCode))
    }
  }

  /// Doubles the interval between polls for the rest of the flow, because a poll timed out (RFC
  /// 8628 §3.5).
  private mutating func slowDown(
    _ polling: TokenPolling<Authorization>, _ message: String, after requested: Duration? = nil
  ) -> Answer<OIDCCall> {
    let interval = max(polling.interval, min(polling.interval * 2, maxDoubledInterval))
    return show(
      copy(polling) { $0.interval = interval }, problem: .unreachable(message), after: requested)
  }

  /// Returns the provider's error code for a flow that ended without an error from the provider.
  static func pollingErrorCode(
    for ending: Failure.Reason, provider: ProviderName
  ) -> ProviderErrorCode? {
    let codes: [Failure.Reason: String] = [.cancelled: "access_denied", .expired: "expired_token"]
    return codes[ending].map { ProviderErrorCode(name: provider, code: $0) }
  }
}
