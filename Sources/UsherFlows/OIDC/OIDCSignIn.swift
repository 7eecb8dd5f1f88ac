import UsherAPI
import UsherConfig
import UsherCore

/// The last part of every OpenID flow, after the provider has issued tokens: it determines the user
/// and creates the account.
///
/// The sign-in verifies the ID token, checks the claims, fetches the profile from the userinfo
/// endpoint and returns the account. If any of this fails, it revokes the tokens. Every step is
/// safe to repeat.
struct OIDCSignIn: RetryingMachine, Codable, Sendable, Equatable {
  private let tokens: TokenSet
  private let metadata: OIDCMetadata
  private let terms: Terms
  private var phase: Phase
  var problem: Problem?

  /// What the flow requires of the tokens.
  struct Terms: Codable, Sendable, Equatable {
    /// The nonce that the flow sent; nil if it sent none.
    var nonce: Sealed<Secret>?
    /// The authorization code, which is spent; nil if there was none.
    var code: Sealed<Secret>?
    /// The `state` that the flow sent; nil if it sent none.
    var state: Sealed<Secret>?
    /// The maximum age of the user's authentication that the flow requested, in seconds.
    var maxAge: Int?
    /// The classes of authentication that the flow requested; nil if it requested none.
    var acrValues: [String]?
    /// The account that the caller named. The sign-in of any other user is refused.
    var account: KnownAccount?
    var keepAlive = false
    /// The key to which the provider has bound the tokens; nil if they are bound to none.
    var dpopKey: Sealed<Secret>?
    /// What the flow requested; nil in flows that an older version stored.
    var request: SignInOptions?
    /// Whether a missing ID token is an error. If it is not, the userinfo endpoint identifies the
    /// user.
    ///
    /// OIDC Core requires an ID token in every reply to a code. For the device grant there is no
    /// such rule, and a provider of type `oauth2` has no ID tokens.
    var needsIDToken = true
    /// The grant that the request has extended; nil if it has extended none.
    var grantID: Sealed<Secret>?
  }

  private enum Phase: Codable, Sendable, Equatable {
    /// Verifies the signature of the ID token. Next: asking, or the end.
    case verifying(Sealed<Secret>, RetryBackoff)
    /// Fetches the profile. Holds the claims of the ID token; nil if there was no ID token. Next:
    /// verifyingUserinfo, or the end.
    case asking(PersonClaims?, RetryBackoff?)
    /// Decrypts a profile that came as a token, and verifies its signature. Next: the end.
    case verifyingUserinfo(PersonClaims?, Sealed<Secret>, RetryBackoff)
  }

  /// What could not be read although the sign-in goes on.
  private var warning: String?

  /// What the account keeps of the verified ID token; nil before the verification, without an ID
  /// token, and in flows that an older version stored after it.
  private var verified: Verified?

  private struct Verified: Codable, Sendable, Equatable {
    let idToken: IDToken
    let signIn: SignInClaims
  }

  /// Starts to turn tokens into an account.
  ///
  /// - Returns: The sign-in and its first answer. If the answer ends the flow, the sign-in is not
  ///   used.
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
        let message = "the provider identifies the person neither by ID token nor by userinfo"
        return (signIn, signIn.refuse(.protocolError(message)))
      }
    }
    return (signIn, .proceed(signIn.effects))
  }

  /// The calls that revoke the tokens if the flow is cancelled or expires.
  var callsIfAbandoned: [OIDCCall] { OIDCCall.revoking(tokens, metadata) }

  var view: FlowView {
    switch phase {
    case .verifying: waiting("verifying", for: "the ID token's verification")
    case .asking, .verifyingUserinfo: waiting("userinfo", for: "the provider's profile")
    }
  }

  mutating func receive(
    _ event: FlowEvent<OIDCCall>, _ provider: Provider<OIDCSettings>, at now: Timestamp
  ) -> Answer<OIDCCall> {
    switch phase {
    case .verifying(let token, let retrying):
      verifying(event, token, retrying, provider.settings, now)
    case .asking(let person, let retrying): asking(event, person, retrying, provider.settings)
    case .verifyingUserinfo(let person, let token, let retrying):
      verifyingUserinfo(event, person, token, retrying, provider.settings, now)
    }
  }

  private mutating func verifying(
    _ event: FlowEvent<OIDCCall>, _ token: Sealed<Secret>, _ retrying: RetryBackoff,
    _ settings: OIDCSettings, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    switch event {
    case .provider(.idTokenVerified(.genuine(let payload, let decrypted))):
      return validateClaims(payload, decrypted ?? token.unsealed(), settings, now)
    case .provider(.idTokenVerified(.refused(let message))),
      .provider(.idTokenVerified(.keyless(let message))):
      return refuse(.protocolError(message))
    case .provider(.idTokenVerified(.unreachable(let message, reply: _))):
      let failure = Failure.unreachable(message)
      let pause = pause(retrying, failure) { $0.phase = .verifying(token, $1) }
      return pause.map { .proceed([.wake(after: $0)]) } ?? refuse(failure)
    case .woken where retrying.isPaused, .daemon(.resumed):
      phase = .verifying(token, retrying.resumed)
      return .proceed(effects)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private mutating func validateClaims(
    _ payload: [UInt8], _ token: Secret, _ settings: OIDCSettings, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    let algorithm: SigningAlgorithm
    do {
      let protection = TokenProtection(of: .idToken, metadata, settings)
      algorithm = try JOSEHeader(of: token, protection).algorithm
    } catch {
      return refuse(.protocolError(error.message))
    }
    let expected = IDTokenClaims.Expectation(
      issuer: metadata.issuer, clientID: settings.clientID, nonce: terms.nonce?.unsealed(),
      now: now, skew: .seconds(settings.clockSkewSeconds),
      accessToken: tokens.accessToken.unsealed(), code: terms.code?.unsealed(),
      state: terms.state?.unsealed(), algorithm: algorithm, maxAge: terms.maxAge,
      acrValues: terms.acrValues)
    switch IDTokenClaims.check(payload: payload, expected) {
    case .failure(let rule):
      let claims = HTTPReply(status: 200, body: payload).jsonObject ?? [:]
      return refuse(
        .protocolError(
          rule.explanation(
            about: claims, issuer: expected.issuer, clientID: expected.clientID, now: now)))
    case .success(let claims):
      guard isWanted(claims.person) else { return refuse(.otherPerson) }
      warning = ClaimSources.warning(in: payload)
      verified = Verified(
        idToken: IDToken(token: Sealed(token), expiresAt: claims.expiresAt),
        signIn: claims.signIn)
      guard metadata.userinfoEndpoint != nil else { return finish(claims.person) }
      phase = .asking(claims.person, RetryBackoff())
      problem = nil
      return .proceed(effects)
    }
  }

  private mutating func asking(
    _ event: FlowEvent<OIDCCall>, _ person: PersonClaims?, _ before: RetryBackoff?,
    _ settings: OIDCSettings
  ) -> Answer<OIDCCall> {
    let retrying = before ?? RetryBackoff()
    switch event {
    case .provider(.called(userinfo, let outcome)) where !retrying.isPaused:
      if person == nil, let fault = outcome.passingError,
        let pause = pause(
          retrying, .unreachable(fault.message), after: fault.after,
          { $0.phase = .asking(nil, $1) })
      {
        return .proceed([.wake(after: pause)])
      }
      return mergeUserinfo(outcome, of: person, settings)
    case .woken where retrying.isPaused, .daemon(.resumed):
      phase = .asking(person, retrying.resumed)
      return .proceed(effects)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Returns the account with the profile merged into the claims of the ID token.
  ///
  /// If there is an ID token, the profile is optional: a failure to fetch it does not fail the
  /// sign-in. A `sub` that differs from the ID token's always does.
  private mutating func mergeUserinfo(
    _ outcome: CallOutcome, of person: PersonClaims?, _ settings: OIDCSettings
  ) -> Answer<OIDCCall> {
    switch outcome {
    case .reply(let reply):
      let parsed = UserinfoReply(
        reply, subject: person?.subject, members: settings.oauth2?.userinfo, settings.protection)
      return merge(parsed, reply.body, of: person)
    case .unreachable(let message, _): return finish(person, without: .unreachable(message))
    case .unreadable(let message), .noToken(let message):
      return finish(person, without: .protocolError(message))
    }
  }

  /// - Parameter payload: The JSON object with the claims.
  private mutating func merge(
    _ reply: UserinfoReply, _ payload: [UInt8], of person: PersonClaims?
  ) -> Answer<OIDCCall> {
    switch reply {
    case .claims(let claims):
      guard isWanted(claims) else { return refuse(.otherPerson) }
      warning = ClaimSources.warning(in: payload) ?? warning
      return finish(person?.merging(claims) ?? claims)
    case .token(let token):
      phase = .verifyingUserinfo(person, Sealed(token), RetryBackoff())
      problem = nil
      return .proceed(effects)
    case .otherSubject:
      let message = "the userinfo endpoint returned another sub than the ID token"
      return refuse(.protocolError(message))
    case .unusable(let message): return finish(person, without: .protocolError(message))
    }
  }

  private mutating func verifyingUserinfo(
    _ event: FlowEvent<OIDCCall>, _ person: PersonClaims?, _ token: Sealed<Secret>,
    _ retrying: RetryBackoff, _ settings: OIDCSettings, _ now: Timestamp
  ) -> Answer<OIDCCall> {
    switch event {
    case .provider(.idTokenVerified(.genuine(let payload, let decrypted))):
      let isSigned = decrypted != nil || !EncryptedToken.isEncrypted(token.unsealed())
      let expected = UserinfoReply.Expectation(
        issuer: metadata.issuer, clientID: settings.clientID, subject: person?.subject, now: now,
        skew: .seconds(settings.clockSkewSeconds))
      return merge(
        UserinfoReply(payload: payload, isSigned: isSigned, expected), payload, of: person)
    case .provider(.idTokenVerified(.refused(let message))),
      .provider(.idTokenVerified(.keyless(let message))):
      return finish(person, without: .protocolError(message))
    case .provider(.idTokenVerified(.unreachable(let message, reply: _))):
      let failure = Failure.unreachable(message)
      guard person == nil,
        let pause = pause(
          retrying, failure, { $0.phase = .verifyingUserinfo(person, token, $1) })
      else { return finish(person, without: failure) }
      return .proceed([.wake(after: pause)])
    case .woken where retrying.isPaused, .daemon(.resumed):
      phase = .verifyingUserinfo(person, token, retrying.resumed)
      return .proceed(effects)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  private var effects: [Effect<OIDCCall>] {
    switch phase {
    case .verifying(let token, _): [.verifyIDToken(token.unsealed(), metadata: metadata)]
    case .asking: [.call(userinfo)]
    case .verifyingUserinfo(_, let token, _):
      [.verifyIDToken(token.unsealed(), as: .userinfo, metadata: metadata)]
    }
  }

  private var userinfo: OIDCCall {
    .userinfo(accessToken: tokens.accessToken.unsealed(), metadata).bound(to: terms.dpopKey)
  }

  private func isWanted(_ person: PersonClaims) -> Bool {
    terms.account.map { $0.subject.hasSameBytes(as: person.subject) } ?? true
  }

  private func refuse(_ failure: Failure) -> Answer<OIDCCall> {
    .fail(failure, cleanUp: OIDCCall.revoking(tokens, metadata))
  }

  /// Returns the account with the claims of the ID token alone, because the profile cannot be read;
  /// without an ID token the sign-in fails.
  private mutating func finish(
    _ person: PersonClaims?, without failure: Failure
  ) -> Answer<OIDCCall> {
    guard let person else { return refuse(failure) }
    warning = failure.message
    return finish(person)
  }

  private func finish(_ person: PersonClaims) -> Answer<OIDCCall> {
    var grant = AccountGrant(
      subject: person.subject, label: person.label,
      profile: person.profile.isEmpty ? nil : person.profile, keepAlive: terms.keepAlive,
      tokens: copy(tokens) { ($0.idToken, $0.grantID) = (nil, nil) })
    // A reply to a request that extends a grant need not repeat its name.
    grant.grantID = tokens.grantID ?? terms.grantID
    grant.idToken = verified?.idToken
    grant.signIn = verified?.signIn
    grant.signInOptions = terms.request
    grant.dpopKey = terms.dpopKey
    var completion = Completion(grant: grant)
    completion.warning = warning
    return .finish(completion)
  }
}

extension CallOutcome {
  /// The message and the `Retry-After` delay of a temporary failure; nil for any other outcome.
  fileprivate var passingError: (message: String, after: Duration?)? {
    switch self {
    case .unreachable(let message, _): (message, nil)
    case .reply(let reply) where [408, 429].contains(reply.status) || reply.status >= 500:
      ("the userinfo endpoint answers HTTP \(reply.status)", reply.retryAfter)
    case .reply, .unreadable, .noToken: nil
    }
  }
}
