import UsherConfig
import UsherCore

// Answers that the provider has signed (JWT Secured Authorization Response Mode, JARM).

extension OIDCAuthorize {
  func verification(of signed: Secret, _ attempt: OIDCAttempt) -> Effect<OIDCCall> {
    .verifyIDToken(signed, as: .authorizationResponse, metadata: attempt.metadata)
  }

  /// Waits for the verdict on the answer's signature. Nothing in the answer is used before.
  mutating func checking(
    _ event: Event, _ attempt: OIDCAttempt, _ redirectURI: String, _ response: Transient,
    _ retrying: RetryBackoff, _ transition: inout TransitionContext
  ) -> Answer {
    switch event {
    case .provider(.idTokenVerified(let verdict)) where !retrying.isPaused:
      switch verdict {
      case .genuine(let payload, _):
        return read(payload, attempt, redirectURI, at: transition.now)
      case .refused(let message), .keyless(let message): return .fail(.protocolError(message))
      case .unreachable(let message, reply: _):
        return retry(retrying, .unreachable(message)) {
          $0.state = .checking(attempt, redirectURI: redirectURI, response, $1)
        }
      }
    case .woken where retrying.isPaused:
      guard let signed = response.secret else { return renew(attempt, .interrupted, &transition) }
      state = .checking(attempt, redirectURI: redirectURI, response, retrying.resumed)
      return .proceed([verification(of: signed, attempt)])
    // The answer was in the memory of the earlier process.
    case .daemon(.resumed): return renew(attempt, .interrupted, &transition)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func read(
    _ payload: [UInt8], _ attempt: OIDCAttempt, _ redirectURI: String, at now: Timestamp
  ) -> Answer {
    let settings = provider.settings
    do throws(UnusableReply) {
      let answer = try SignedResponse.read(
        payload: payload,
        .init(
          issuer: attempt.metadata.issuer, clientID: settings.clientID,
          state: attempt.state.unsealed(), now: now,
          skew: .seconds(settings.clockSkewSeconds)))
      return accept(answer, attempt, redirectURI)
    } catch {
      return .fail(.protocolError(error.message))
    }
  }
}
