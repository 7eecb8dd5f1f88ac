import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// How the authorization request reaches the provider: signed or not, pushed or in the browser.

extension OIDCAuthorize {
  mutating func opened(
    _ attempt: OIDCAttempt, redirectURI: String, _ listener: ListenerState
  ) -> Answer {
    if isPushed(attempt.metadata), attempt.metadata.pushedAuthorizationRequestEndpoint == nil {
      return .fail(.protocolError("the provider names no pushed authorization request endpoint"))
    }
    return send(attempt, redirectURI, listener, RetryBackoff())
  }

  private func isPushed(_ metadata: OIDCMetadata) -> Bool {
    provider.settings.pushesRequests(required: metadata.requiresPushedRequests ?? false)
  }

  private func isSigned(_ metadata: OIDCMetadata) -> Bool {
    provider.settings.signsRequests(required: metadata.requiresSignedRequests ?? false)
  }

  /// Signs the request if it must be signed, else pushes or shows it.
  private mutating func send(
    _ attempt: OIDCAttempt, _ redirectURI: String, _ listener: ListenerState,
    _ retrying: RetryBackoff
  ) -> Answer {
    guard isSigned(attempt.metadata) else {
      return deliver(attempt, redirectURI, listener, retrying)
    }
    state = .signing(attempt, redirectURI: redirectURI, listener, retrying.resumed)
    let parameters = parameters(attempt, redirectURI).map { name, value in
      (name, JSONValue(claim: name, value))
    }
    let isPushed = isPushed(attempt.metadata)
    return .proceed([
      .sign(
        RequestObject(
          parameters: Dictionary(parameters) { first, _ in first },
          audience: attempt.metadata.issuer,
          lifetime: isPushed ? RequestObject.pushedLifetime : RequestObject.browserLifetime,
          algorithms: attempt.metadata.requestObjectAlgorithms))
    ])
  }

  mutating func signing(
    _ event: Event, _ attempt: OIDCAttempt, _ redirectURI: String, _ listener: ListenerState,
    _ retrying: RetryBackoff
  ) -> Answer {
    switch event {
    case .provider(.signed(.signed(let object))):
      let attempt = copy(attempt) { $0.requestObject = Sealed(object) }
      return deliver(attempt, redirectURI, listener, retrying)
    case .provider(.signed(.refused(let message))): return .fail(.unsigned(message))
    // The listener has gone with the earlier process, so the round begins again.
    case .daemon(.resumed):
      prepare(attempt)
      return preparing(event, attempt)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func deliver(
    _ attempt: OIDCAttempt, _ redirectURI: String, _ listener: ListenerState,
    _ retrying: RetryBackoff
  ) -> Answer {
    guard isPushed(attempt.metadata) else {
      show(attempt, redirectURI: redirectURI, listener)
      return .proceed([])
    }
    state = .pushing(attempt, redirectURI: redirectURI, listener, retrying.resumed)
    return .proceed([.call(pushCall(attempt, redirectURI))])
  }

  private func parameters(
    _ attempt: OIDCAttempt, _ redirectURI: String
  ) -> [(name: String, value: String)] {
    attempt.parameters(
      redirectURI: redirectURI, scope: request.scope, audiences: request.audiences ?? [],
      hints: hints(attempt.metadata), settings: provider.settings)
  }

  /// Returns the additional parameters: those of the caller, and those about the grant.
  func hints(_ metadata: OIDCMetadata) -> [String: String] {
    request.hints.merging(
      provider.settings.grantParameters(request.grantID?.unsealed(), metadata)
    ) { $1 }
  }

  private func pushCall(_ attempt: OIDCAttempt, _ redirectURI: String) -> OIDCCall {
    if let object = attempt.requestObject {
      return .pushAuthorization(["request": object.unsealed().revealed()], attempt.metadata)
    }
    return .pushAuthorization(
      Dictionary(parameters(attempt, redirectURI)) { first, _ in first }, attempt.metadata)
  }

  mutating func pushing(
    _ event: Event, _ attempt: OIDCAttempt, _ redirectURI: String, _ listener: ListenerState,
    _ retrying: RetryBackoff, _ now: Timestamp
  ) -> Answer {
    switch event {
    case .provider(.called(pushCall(attempt, redirectURI), let outcome)) where !retrying.isPaused:
      switch PushedRequestReply(outcome, from: provider.name) {
      case .granted(let requestURI):
        problem = nil
        let pushed = copy(attempt) { ($0.requestURI, $0.requestObject) = (requestURI, nil) }
        show(pushed, redirectURI: redirectURI, listener)
        return .proceed([])
      case .dead(let errorCode), .misconfigured(let errorCode), .rejected(let errorCode):
        return .fail(.rejected(errorCode))
      // The request is pushed again although an earlier one may have arrived: a reference that
      // nobody uses expires by itself.
      case .retry(let message, let after):
        return retry(retrying, .unreachable(message), after: after) {
          $0.state = .pushing(attempt, redirectURI: redirectURI, listener, $1)
        }
      case .unreadable(let message): return .fail(.protocolError(message))
      }
    // A signed request is signed again, because the earlier signature may expire.
    case .woken where retrying.isPaused:
      return send(
        copy(attempt) { $0.requestObject = nil }, redirectURI, listener, retrying)
    // The listener has gone with the earlier process, so the round begins again.
    case .daemon(.resumed):
      prepare(attempt)
      return preparing(event, attempt)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }
}

extension Failure {
  /// The failure of a flow whose authorization request cannot be signed.
  fileprivate static func unsigned(_ message: String) -> Failure {
    Failure(
      reason: .invalidRequest, title: "The request cannot be signed", message: message,
      retryable: true)
  }
}
