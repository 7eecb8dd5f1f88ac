import UsherAPI
import UsherConfig
import UsherCore

/// The end of every OpenID flow: from tokens to an account.
///
/// The ID token is verified, the claims are judged, the userinfo endpoint is asked, and the account
/// is handed over. Whatever goes wrong, the tokens are revoked. All of it is safe to repeat.
struct OIDCSignIn: Codable, Sendable, Equatable {
  private let tokens: TokenSet
  private let metadata: OIDCMetadata
  private let terms: Terms
  private var phase: Phase
  private var problem: Problem?

  /// What the flow was begun with.
  struct Terms: Codable, Sendable, Equatable {
    /// The one that was sent.
    var nonce: Sealed<Secret>?
    /// In seconds, where it was asked for.
    var maxAge: Int?
    /// The account the flow is about: nobody else may come out of it.
    var account: KnownAccount?
    var keepAlive = false
    /// Without one the userinfo endpoint tells who it is. OIDC Core has one in every answer to a
    /// code; of the device grant it says nothing.
    var needsIDToken = true
  }

  private enum Phase: Codable, Sendable, Equatable {
    /// → asking, or the end
    case verifying(Sealed<Secret>, RetryBackoff)
    /// The ID token's claims, nil where there was no ID token. → the end
    case asking(PersonClaims?, RetryBackoff?)
  }

  /// - Returns: With the answer that begins it; where that is the end, the state is of no use.
  static func begin(
    _ tokens: TokenSet, _ metadata: OIDCMetadata, _ terms: Terms
  ) -> (OIDCSignIn, Answer<OIDCCall>) {
    let phase =
      tokens.idToken.map { Phase.verifying($0, RetryBackoff()) } ?? .asking(nil, RetryBackoff())
    let signIn = OIDCSignIn(tokens: tokens, metadata: metadata, terms: terms, phase: phase)
    if tokens.idToken == nil {
      if terms.needsIDToken {
        return (signIn, signIn.refuse(.protocolError("the provider's answer has no ID token")))
      }
      if metadata.userinfoEndpoint == nil {
        let message = "the provider tells neither by ID token nor by userinfo who this is"
        return (signIn, signIn.refuse(.protocolError(message)))
      }
    }
    return (signIn, .proceed(signIn.effects))
  }

  /// Takes the tokens back when nobody will have them.
  var abandoned: [OIDCCall] { OIDCCall.revoking(tokens, metadata) }

  var view: FlowView {
    switch phase {
    case .verifying:
      FlowView(
        state: "verifying", step: .wait(.init(for: "the ID token's verification")),
        problem: problem)
    case .asking:
      FlowView(
        state: "userinfo", step: .wait(.init(for: "the provider's profile")), problem: problem)
    }
  }

  mutating func receive(
    _ event: FlowEvent<OIDCCall>, _ provider: ProviderConfig, at now: Timestamp
  ) -> Answer<OIDCCall> {
    switch phase {
    case .verifying(let token, let retrying):
      verifying(event, token, retrying, provider.oidc, now)
    case .asking(let person, let retrying): asking(event, person, retrying)
    }
  }

  private mutating func verifying(
    _ event: FlowEvent<OIDCCall>, _ token: Sealed<Secret>, _ retrying: RetryBackoff,
    _ settings: OIDCSettings, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    var retrying = retrying
    switch event {
    case .idTokenVerified(.genuine(let payload)):
      return judge(payload, token.unsealed(), settings, now)
    case .idTokenVerified(.refused(let message)), .idTokenVerified(.keyless(let message)):
      return refuse(.protocolError(message))
    case .idTokenVerified(.unreachable(let message, reply: _)):
      guard let pause = retrying.failed() else { return refuse(.unreachable(message)) }
      phase = .verifying(token, retrying)
      problem = .unreachable(message)
      return .proceed([.wake(after: pause)])
    case .woken where !retrying.isPaused: return .ignore
    case .woken, .resumed:
      retrying.goOn()
      phase = .verifying(token, retrying)
      return .proceed(effects)
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .calledBack, .told:
      return .ignore
    }
  }

  private mutating func judge(
    _ payload: [UInt8], _ token: Secret, _ settings: OIDCSettings, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    let algorithm: SigningAlgorithm
    do {
      let accepted = SigningAlgorithm.accepted(by: metadata)
      algorithm = try JOSEHeader(of: token, accepting: accepted).algorithm
    } catch {
      return refuse(.protocolError(error.message))
    }
    let expected = IDTokenClaims.Expectation(
      issuer: metadata.issuer, clientID: settings.clientID, nonce: terms.nonce?.unsealed(),
      now: now, skew: .seconds(settings.clockSkewSeconds),
      accessToken: tokens.accessToken.unsealed(), algorithm: algorithm, maxAge: terms.maxAge)
    switch IDTokenClaims.check(payload: payload, expected) {
    case .failure(let rule):
      let claims = HTTPReply(status: 200, body: payload).jsonObject ?? [:]
      return refuse(
        .protocolError(
          rule.explanation(
            about: claims, issuer: expected.issuer, clientID: expected.clientID, now: now)))
    case .success(let claims):
      guard isWanted(claims.person) else { return refuse(.otherPerson) }
      guard metadata.userinfoEndpoint != nil else { return finish(claims.person) }
      phase = .asking(claims.person, RetryBackoff())
      problem = nil
      return .proceed(effects)
    }
  }

  private mutating func asking(
    _ event: FlowEvent<OIDCCall>, _ person: PersonClaims?, _ before: RetryBackoff?
  ) -> Answer<OIDCCall> {
    var retrying = before ?? RetryBackoff()
    switch event {
    case .called(.userinfo(tokens.accessToken.unsealed(), metadata), let outcome)
    where !retrying.isPaused:
      if person == nil, let fault = outcome.passingError, let pause = retrying.failed() {
        phase = .asking(nil, retrying)
        problem = .unreachable(fault.message)
        return .proceed([.wake(after: RetryBackoff.pause(pause, asked: fault.after))])
      }
      return learned(outcome, of: person)
    case .woken where !retrying.isPaused: return .ignore
    case .woken, .resumed:
      retrying.goOn()
      phase = .asking(person, retrying)
      return .proceed(effects)
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told:
      return .ignore
    }
  }

  /// The profile is a gift: where the ID token says who it is, a sign-in does not fail for want of
  /// one; but it does where the two speak of different people.
  private func learned(_ outcome: CallOutcome, of person: PersonClaims?) -> Answer<OIDCCall> {
    let failure: Failure
    switch outcome {
    case .reply(let reply):
      switch UserinfoReply(reply, subject: person?.subject) {
      case .claims(let claims):
        guard isWanted(claims) else { return refuse(.otherPerson) }
        return finish(person?.merging(claims) ?? claims)
      case .otherSubject:
        let message = "the userinfo endpoint speaks of another sub than the ID token"
        return refuse(.protocolError(message))
      case .unusable(let message): failure = .protocolError(message)
      }
    case .unreachable(let message, _): failure = .unreachable(message)
    case .unreadable(let message), .noToken(let message): failure = .protocolError(message)
    }
    return person.map(finish) ?? refuse(failure)
  }

  private var effects: [Effect<OIDCCall>] {
    switch phase {
    case .verifying(let token, _): [.verifyIDToken(token.unsealed(), metadata: metadata)]
    case .asking: [.call(.userinfo(accessToken: tokens.accessToken.unsealed(), metadata))]
    }
  }

  private func isWanted(_ person: PersonClaims) -> Bool {
    terms.account.map { $0.subject.hasSameBytes(as: person.subject) } ?? true
  }

  private func refuse(_ failure: Failure) -> Answer<OIDCCall> {
    .fail(failure, clearUp: OIDCCall.revoking(tokens, metadata))
  }

  private func finish(_ person: PersonClaims) -> Answer<OIDCCall> {
    .finish(
      Completion(
        grant: AccountGrant(
          subject: person.subject, label: person.label,
          profile: person.profile.isEmpty ? nil : person.profile, keepAlive: terms.keepAlive,
          tokens: tokens)))
  }
}

extension CallOutcome {
  /// Why it says nothing yet and may do so later, and after how long as the provider's `Retry-After` says.
  fileprivate var passingError: (message: String, after: Duration?)? {
    switch self {
    case .unreachable(let message, _): (message, nil)
    case .reply(let reply) where [408, 429].contains(reply.status) || reply.status >= 500:
      ("the userinfo endpoint answers HTTP \(reply.status)", reply.retryAfter)
    case .reply, .unreadable, .noToken: nil
    }
  }
}
