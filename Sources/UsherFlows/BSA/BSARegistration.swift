import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The registration of a user and a device: the common part of `register` and `reregisterDevice`
/// (contract §5.6).
package struct BSARegistration: RetryingMachine, Codable, Sendable, Equatable {
  package enum Purpose: String, Codable, Sendable {
    /// The user's first device. A sign-up that may have succeeded is never repeated.
    case signUp
    /// Replaces another device; safe to repeat.
    case replacement
  }

  let purpose: Purpose
  private var enrolment: BSAEnrolment
  /// Whether the authentication method is the registered one, which the provider reports.
  private let takesRegisteredType: Bool
  private var stage: Phase
  var problem: Problem?

  private enum Phase: Codable, Sendable, Equatable {
    /// The contact is verified. → proving, signingUp, or the end
    case verifying(ContactVerification)
    /// The user authenticates. → signingUp, or the end
    case proving(Sealed<Secret>, LocalAuthentication)
    /// The registration is sent. → proving, or the end
    case signingUp(SigningUp)
    /// - Parameter state: The last name that the flow's state had.
    case over(Failure, state: String)
  }

  private struct SigningUp: Codable, Sendable, Equatable {
    let disposeToken: Sealed<Secret>
    /// The proof of authentication; nil if none is required.
    let proof: LocalAuthProof?
    var retrying = RetryBackoff()
    /// Whether an earlier call may have succeeded although its reply was lost.
    var isLost = false
  }

  /// - Parameters:
  ///   - disposeToken: The proof of the contact; nil if the user still has to verify it.
  ///   - authType: The authentication method; nil for the registered one.
  static func begin(
    _ purpose: Purpose, _ enrolment: BSAEnrolment, authType: BSAAuthType?,
    disposeToken: Sealed<Secret>?, _ provider: Provider<BSASettings>, at now: Timestamp
  ) -> (BSARegistration, Answer<BSACall>) {
    let member = BSAMember(userKey: enrolment.userKey, name: enrolment.name)
    var verification = ContactVerification(
      enrolment.contact, of: purpose == .replacement ? member : nil)
    let effects = verification.begin()
    var registration = BSARegistration(
      purpose: purpose, enrolment: enrolment, takesRegisteredType: authType == nil,
      stage: .verifying(verification))
    guard let disposeToken else { return (registration, .proceed(effects)) }
    let answer = registration.prove(disposeToken, provider, at: now)
    return (registration, answer)
  }

  func view(_ provider: Provider<BSASettings>) -> FlowView {
    switch stage {
    case .verifying(let verification):
      FlowView(
        state: verification.state, step: verification.step(provider.settings),
        problem: verification.problem)
    case .proving(_, let authentication):
      FlowView(state: "localAuth", step: authentication.step, problem: authentication.problem)
    case .signingUp, .over: waiting(state, for: "the registration")
    }
  }

  private var state: String {
    switch stage {
    case .verifying(let verification): verification.state
    case .proving: "localAuth"
    case .signingUp: "signingUp"
    case .over(_, let state): state
    }
  }

  mutating func receive(
    _ event: FlowEvent<BSACall>, _ provider: Provider<BSASettings>, at now: Timestamp
  ) -> Answer<BSACall> {
    switch stage {
    case .verifying(let verification): verifying(event, verification, provider, now)
    case .proving(let token, let authentication):
      proving(event, token, authentication, provider, now)
    case .signingUp(let work): signingUp(event, work, provider, now)
    case .over(let failure, _): event == .daemon(.resumed) ? .fail(failure) : .ignore
    }
  }

  /// Whether a call that registers the user or sends a number is in progress.
  var isOutcomeUnknown: Bool {
    switch stage {
    case .verifying(let verification): verification.isSending
    case .signingUp(let work): !work.retrying.isPaused
    case .proving, .over: false
    }
  }

  var unknownOutcomeClause: String {
    if case .verifying = stage { .perhapsSent("a number") } else { .operationUnknown }
  }

  private mutating func fail(_ failure: Failure) -> Answer<BSACall> {
    stage = .over(failure, state: state)
    problem = nil
    return .fail(failure)
  }
}

// MARK: - The contact

extension BSARegistration {
  private mutating func verifying(
    _ event: FlowEvent<BSACall>, _ verification: ContactVerification,
    _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer<BSACall> {
    var verification = verification
    let progress = verification.receive(event, provider, at: now)
    stage = .verifying(verification)
    switch progress {
    case .proceed(let effects):
      // Fail before the user types a number in vain.
      if takesRegisteredType, verification.isAsking {
        guard let type = verification.registered else {
          return fail(.missingMember("data.authType"))
        }
        enrolment.authType = type
        guard type != .none || provider.settings.allowNoLocalAuth else {
          return fail(.noLocalAuth(provider.name))
        }
      }
      return .proceed(effects)
    case .verified(let token): return prove(token, provider, at: now)
    case .fail(let failure): return fail(failure)
    case .refuse(let field, let message): return .refuse(field: field, message: message)
    case .ignore: return .ignore
    }
  }
}

// MARK: - The user

extension BSARegistration {
  private mutating func prove(
    _ disposeToken: Sealed<Secret>, _ provider: Provider<BSASettings>, at now: Timestamp
  ) -> Answer<BSACall> {
    guard let type = enrolment.authType.localAuthType else {
      guard provider.settings.allowNoLocalAuth else { return fail(.noLocalAuth(provider.name)) }
      return signUp(SigningUp(disposeToken: disposeToken, proof: nil))
    }
    // The seed: no fingers are stored yet that a scan could be compared with.
    var authentication = LocalAuthentication(
      LocalAuthRequest(
        type, reason: "register \(enrolment.userKey) at \(provider.name)",
        goodForSeconds: provider.settings.localAuthSeconds))
    let questions = authentication.begin()
    stage = .proving(disposeToken, authentication)
    problem = nil
    return .asking(questions)
  }

  private mutating func proving(
    _ event: FlowEvent<BSACall>, _ disposeToken: Sealed<Secret>,
    _ authentication: LocalAuthentication, _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer<BSACall> {
    var authentication = authentication
    switch authentication.receive(event, at: now) {
    case .ask(let questions):
      stage = .proving(disposeToken, authentication)
      return .asking(questions)
    case .authenticated(let proof):
      let answer = signUp(SigningUp(disposeToken: disposeToken, proof: proof))
      guard proof.serves(.biometric), case .proceed(let effects) = answer else { return answer }
      // The seed: each later sign-in compares with the fingers that the sign-up saves.
      return .proceed([.ask(.localAuth(.saveFingers))] + effects)
    case .failed(let errorCode, let message):
      return fail(.notIdentified(errorCode, message, provider.name))
    case .refuse(let field, let message): return .refuse(field: field, message: message)
    case .ignore: return .ignore
    }
  }
}

// MARK: - The registration

extension BSARegistration {
  private mutating func signUp(_ work: SigningUp) -> Answer<BSACall> {
    var work = work
    work.retrying.endPause()
    stage = .signingUp(work)
    problem = nil
    return .proceed([.call(call(work))])
  }

  private func call(_ work: SigningUp) -> BSACall {
    let token = work.disposeToken.unsealed()
    return switch purpose {
    case .signUp: .signUp(enrolment, disposeToken: token)
    case .replacement: .replaceDevice(enrolment, disposeToken: token)
    }
  }

  private mutating func signingUp(
    _ event: FlowEvent<BSACall>, _ work: SigningUp, _ provider: Provider<BSASettings>,
    _ now: Timestamp
  ) -> Answer<BSACall> {
    switch event {
    case .provider(.called(call(work), let outcome)) where !work.retrying.isPaused:
      return signedUp(BSAReply(outcome), work, provider)
    case .woken where work.retrying.isPaused: return again(work, provider, now)
    case .daemon(.resumed):
      guard work.retrying.isPaused || purpose == .replacement else {
        return fail(.mayBeRegistered("the daemon was restarted before the provider answered"))
      }
      var work = work
      work.isLost = work.isLost || !work.retrying.isPaused
      return again(work, provider, now)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Repeats the registration; the user authenticates again if the proof is too old.
  private mutating func again(
    _ work: SigningUp, _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer<BSACall> {
    let age = Duration.seconds(provider.settings.localAuthSeconds)
    guard work.proof.map({ $0.isFresh(for: age, at: now) }) ?? true else {
      return prove(work.disposeToken, provider, at: now)
    }
    return signUp(work)
  }

  private mutating func signedUp(
    _ reply: BSAReply, _ work: SigningUp, _ provider: Provider<BSASettings>
  ) -> Answer<BSACall> {
    switch reply {
    case .success(let data):
      let secret = data.objectValue?["secretKey"]?.stringValue.map { Secret($0) }
      return .finish(completion(secret.flatMap { TOTPKey(base32: $0) == nil ? nil : $0 }))
    case .refused(.invalid) where work.isLost: return fail(.mayBeReplaced(provider.name))
    case .refused(let code): return fail(.refused(code, provider.name))
    case .failed(let fault) where fault.mayHaveTakenEffect && purpose == .signUp:
      return fail(.mayBeRegistered(fault.message))
    case .failed(let fault):
      let failure = Failure.unreachable(fault)
      let pause = pause(work.retrying, failure, after: fault.retryAfter) {
        var work = work
        work.retrying = $1
        work.isLost = work.isLost || fault.mayHaveTakenEffect
        $0.stage = .signingUp(work)
      }
      return pause.map { .proceed([.wake(after: $0)]) } ?? fail(failure)
    case .unreadable(let message), .noToken(let message):
      return fail(.unusableRegistration(.protocolError(message)))
    }
  }

  /// - Parameter secret: The authenticator secret; nil if the provider's is unusable. The user is
  ///   registered even then.
  private func completion(_ secret: Secret?) -> Completion {
    var attributes: [String: JSONValue] = [
      "userKey": .string(enrolment.userKey), "deviceId": .string(enrolment.device),
      "localAuthType": .string(enrolment.authType.sdkName),
    ]
    // The provider no longer uses the token of an earlier registration.
    attributes["pushToken"] = enrolment.pushToken.map { .string($0) } ?? .null
    var grant = AccountGrant(
      subject: enrolment.userKey, label: enrolment.userKey, attributes: attributes, tokens: nil)
    grant.totpSecret = secret.map { Sealed($0) }
    // The provider no longer accepts the secret of an earlier registration.
    grant.dropsTOTPSecret = secret == nil
    var result: [String: JSONValue] = [
      "userKey": .string(enrolment.userKey), "deviceId": .string(enrolment.device),
    ]
    if secret == nil { result["totpProblem"] = .string(Self.noSecret) }
    return Completion(grant: grant, result: result)
  }

  private static let noSecret =
    "the provider's answer has no usable data.secretKey: the person is registered, but there are "
    + "no one-time codes; run reregisterDevice to get another secret"
}

extension Failure {
  static func noLocalAuth(_ provider: ProviderName) -> Failure {
    .impossible(
      .authType, "authType must not be none: this provider requires local authentication", provider)
  }

  /// - Parameter cause: A sentence for users.
  fileprivate static func mayBeRegistered(_ cause: String) -> Failure {
    var failure = unusableRegistration(.unreachable(cause))
    failure.retryable = false
    return failure
  }

  /// The proof of the contact was used up, probably by a call whose reply was lost.
  fileprivate static func mayBeReplaced(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Answer lost",
      message: "the provider may have registered this device already, but its answer was lost: "
        + "run reregisterDevice again; until then, codes of this account may be invalid",
      retryable: true, provider: RTCode.invalid.providerErrorCode(provider))
  }

  /// Adds a hint for the case that the registration has succeeded nevertheless.
  fileprivate static func unusableRegistration(_ failure: Failure) -> Failure {
    var failure = failure
    failure.message +=
      "; the person may be registered nevertheless: if so, run reregisterDevice for this device"
    return failure
  }
}
