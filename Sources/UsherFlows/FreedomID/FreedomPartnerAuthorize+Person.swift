import UsherAPI
import UsherConfig
import UsherCore

// Asks Freedom ID which user the tokens belong to.

extension FreedomPartnerAuthorize {
  /// How long a later flow can use the tokens that this flow stored, if this flow could not find
  /// out their user.
  package static let handoffLifetime = Duration.seconds(86_400)

  /// The purpose under which the tokens are stored: account, client id, requested grants and the
  /// provider's addresses. Only a flow with the same purpose may use the tokens, because the user
  /// agreed to these grants, and tokens are sent only to the provider that issued them.
  private var purpose: String {
    let parts =
      ["authorize", account?.id.rawValue ?? "", provider.settings.clientID ?? ""]
      + grants.map(\.text) + provider.config.tokenPlace.addresses
    return parts.joined(separator: " ")
  }

  /// Continues with tokens that an earlier flow stored because it could not find out their user;
  /// nil if there are none.
  mutating func resume(with handoffSecrets: [HandoffSecret]) -> Answer? {
    let kept = handoffSecrets.filter { $0.purpose == purpose && $0.tokens != nil }
      .max { $0.expiresAt < $1.expiresAt }
    guard let kept, let tokens = kept.tokens else { return nil }
    handoffSecret = kept
    usesKeptTokens = true
    return complete(tokens, RetryBackoff())
  }

  package var consumedHandoffSecret: String? {
    usesKeptTokens == true ? handoffSecret?.handle : nil
  }

  package var grantIfAbandoned: AbandonedGrant? {
    guard case .completing = state, let handoffSecret else { return nil }
    return AbandonedGrant(content: .handoffSecret(handoffSecret), message: Self.tokensAreKept)
  }

  private static let tokensAreKept =
    "the tokens are kept for a day: repeat the sign-in to request the profile without the browser"

  mutating func handleTokens(_ tokens: TokenSet, _ transition: inout TransitionContext) -> Answer {
    handoffSecret = HandoffSecret(
      handle: "tokens_" + transition.random(16).hexadecimal, purpose: purpose,
      secret: tokens.accessToken, expiresAt: transition.now + Self.handoffLifetime, tokens: tokens)
    return complete(tokens, RetryBackoff())
  }

  private mutating func complete(_ tokens: TokenSet, _ retrying: RetryBackoff) -> Answer {
    state = .completing(tokens, retrying.resumed)
    return .proceed([.call(.user(token: tokens.accessToken.unsealed()))])
  }

  mutating func completing(
    _ event: Event, _ tokens: TokenSet, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    if event.repeatsCall(retrying) { return complete(tokens, retrying) }
    let call = FreedomPartnerCall.user(token: tokens.accessToken.unsealed())
    guard let outcome = event.outcome(of: call, retrying) else { return .ignore }
    return completed(outcome, tokens, retrying, &transition)
  }

  private mutating func completed(
    _ outcome: CallOutcome, _ tokens: TokenSet, _ retrying: RetryBackoff,
    _ transition: inout TransitionContext
  ) -> Answer {
    switch FreedomIDReply(outcome) {
    case .success(let members):
      do throws(UnusableReply) {
        let person = try FreedomPerson(members, requested: grants.compactMap(\.data))
        return handlePerson(person, tokens, transition.now)
      } catch {
        return handleMissingProfile(
          .unusable(error.message, .parsingError, provider.name), &transition)
      }
    case .refused(let refusal):
      let failure = Failure.refused(refusal, as: refusal.tokenErrorCode, provider.name)
      return handleMissingProfile(failure, tokensAreGood: !refusal.endsTokens, &transition)
    case .failed(let fault):
      let failure = Failure.unreachable(fault, provider.name)
      let pause = pause(retrying, failure, after: fault.retryAfter) {
        $0.state = .completing(tokens, $1)
      }
      return pause.map { .proceed([.wake(after: $0)]) } ?? failKeepingTokens(failure)
    case .unreadable(let flaw):
      return handleMissingProfile(.unusable(flaw, provider.name), &transition)
    case .noToken(let message):
      return handleMissingProfile(
        .noToken(message, provider.name), tokensAreGood: false, &transition)
    }
  }

  private mutating func handlePerson(
    _ person: FreedomPerson, _ tokens: TokenSet, _ now: Timestamp
  ) -> Answer {
    guard account.map({ $0.subject.hasSameBytes(as: person.id) }) ?? true else {
      return failDroppingTokens(.otherPerson(provider.name))
    }
    guard let end = person.end(grants, tokens, provider.settings.grantDays, now) else {
      return failDroppingTokens(
        .denied("the person agreed to none of the requested data", provider.name))
    }
    return .finish(end)
  }

  /// Handles a reply without a usable profile. If the tokens come from an earlier flow, the flow
  /// drops them and sends the user to the browser; otherwise the same reply would block each
  /// further sign-in.
  private mutating func handleMissingProfile(
    _ failure: Failure, tokensAreGood: Bool = true, _ transition: inout TransitionContext
  ) -> Answer {
    if usesKeptTokens == true {
      handoffSecret = nil
      usesKeptTokens = nil
      return listen(nil, &transition)
    }
    return tokensAreGood ? failKeepingTokens(failure) : failDroppingTokens(failure)
  }

  private func failKeepingTokens(_ failure: Failure) -> Answer {
    guard let kept = grantIfAbandoned else { return .fail(failure) }
    return .fail(copy(failure) { $0.message += "; " + kept.message })
  }

  private mutating func failDroppingTokens(_ failure: Failure) -> Answer {
    handoffSecret = nil
    return .fail(failure)
  }
}

extension FreedomIDRefusal {
  /// Whether the refusal means that the access token of the refused request is invalid.
  fileprivate var endsTokens: Bool {
    switch tokenErrorCode {
    case .autheticationError, .authError, .accessDenied: true
    default: false
    }
  }
}
