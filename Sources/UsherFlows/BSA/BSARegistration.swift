import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// A person and a device on their way to be registered: what `register` and `reregisterDevice` have in
/// common (contract §5.6).
struct BSARegistration: Codable, Sendable, Equatable {
  /// What becomes of a device.
  enum Purpose: String, Codable, Sendable {
    /// A person's first. A sign-up is never repeated where it may have been done.
    case signUp
    /// In place of another; safe to repeat.
    case replacement
  }

  let purpose: Purpose
  private var enrolment: BSAEnrolment
  /// Whether the kind of local authentication is the registered one.
  private let takesRegisteredType: Bool
  private var stage: Phase
  private var problem: Problem?

  private enum Phase: Codable, Sendable, Equatable {
    /// → proving, signingUp, or the end
    case verifying(ContactVerification)
    /// → signingUp, or the end
    case proving(Sealed<Secret>, LocalAuthentication)
    /// → proving, or the end
    case signingUp(SigningUp)
    /// - Parameter state: The last word for it.
    case over(Failure, state: String)
  }

  private struct SigningUp: Codable, Sendable, Equatable {
    let disposeToken: Sealed<Secret>
    /// Nil where nobody is asked.
    let proof: LocalAuthProof?
    var retrying = RetryBackoff()
    /// It may have been done, and nobody knows.
    var isLost = false
  }

  /// - Parameters:
  ///   - disposeToken: The proof of the contact; nil where the person is to give it.
  ///   - authType: Nil for the registered one.
  static func begin(
    _ purpose: Purpose, _ enrolment: BSAEnrolment, authType: BSAAuthType?,
    disposeToken: Sealed<Secret>?, _ provider: ProviderConfig, at now: Timestamp
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

  func view(_ provider: ProviderConfig) -> FlowView {
    switch stage {
    case .verifying(let verification):
      FlowView(
        state: verification.state, step: verification.step(provider.bsa),
        problem: verification.problem)
    case .proving(_, let authentication):
      FlowView(state: "localAuth", step: authentication.step, problem: authentication.problem)
    case .signingUp, .over:
      FlowView(state: state, step: .wait(.init(for: "the registration")), problem: problem)
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
    _ event: FlowEvent<BSACall>, _ provider: ProviderConfig, at now: Timestamp
  ) -> Answer<BSACall> {
    switch stage {
    case .verifying(let verification): verifying(event, verification, provider, now)
    case .proving(let token, let authentication):
      proving(event, token, authentication, provider, now)
    case .signingUp(let work): signingUp(event, work, provider, now)
    case .over(let failure, _): event == .resumed ? .fail(failure) : .ignore
    }
  }

  /// Whether the provider may be registering, or sending a number, just now.
  var isOutcomeUnknown: Bool {
    switch stage {
    case .verifying(let verification): verification.isSending
    case .signingUp(let work): !work.retrying.isPaused
    case .proving, .over: false
    }
  }

  var doubt: String {
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
    _ provider: ProviderConfig, _ now: Timestamp
  ) -> Answer<BSACall> {
    var verification = verification
    let course = verification.receive(event, provider, at: now)
    stage = .verifying(verification)
    switch course {
    case .proceed(let effects):
      // Before the person types anything in vain.
      if takesRegisteredType, verification.isAsking {
        guard let type = verification.registered else { return fail(.lacking("data.authType")) }
        enrolment.authType = type
        guard type != .none || provider.bsa.allowNoLocalAuth else {
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

// MARK: - The person

extension BSARegistration {
  private mutating func prove(
    _ disposeToken: Sealed<Secret>, _ provider: ProviderConfig, at now: Timestamp
  ) -> Answer<BSACall> {
    guard let type = enrolment.authType.localAuthType else {
      guard provider.bsa.allowNoLocalAuth else {
        return fail(.noLocalAuth(provider.name))
      }
      return signUp(SigningUp(disposeToken: disposeToken, proof: nil))
    }
    // The seed: nothing is stored yet that fingers could be compared with.
    var authentication = LocalAuthentication(
      LocalAuthRequest(
        type, reason: "register \(enrolment.userKey) at \(provider.name)",
        goodForSeconds: provider.bsa.localAuthSeconds))
    let questions = authentication.begin()
    stage = .proving(disposeToken, authentication)
    problem = nil
    return .asking(questions)
  }

  private mutating func proving(
    _ event: FlowEvent<BSACall>, _ disposeToken: Sealed<Secret>,
    _ authentication: LocalAuthentication, _ provider: ProviderConfig, _ now: Timestamp
  ) -> Answer<BSACall> {
    var authentication = authentication
    switch authentication.receive(event, at: now) {
    case .ask(let questions):
      stage = .proving(disposeToken, authentication)
      return .asking(questions)
    case .authenticated(let proof):
      let answer = signUp(SigningUp(disposeToken: disposeToken, proof: proof))
      guard proof.serves(.biometric), case .proceed(let effects) = answer else { return answer }
      // The seed: what the sign-up saves is what each later sign-in compares with.
      return .proceed([.ask(.localAuth(.saveFingers))] + effects)
    case .failed(let word, let message): return fail(.notIdentified(word, message, provider.name))
    case .refuse(let field, let message): return .refuse(field: field, message: message)
    case .ignore: return .ignore
    }
  }
}

// MARK: - The registration

extension BSARegistration {
  private mutating func signUp(_ work: SigningUp) -> Answer<BSACall> {
    var work = work
    work.retrying.goOn()
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
    _ event: FlowEvent<BSACall>, _ work: SigningUp, _ provider: ProviderConfig, _ now: Timestamp
  ) -> Answer<BSACall> {
    switch event {
    case .called(call(work), let outcome) where !work.retrying.isPaused:
      return signedUp(BSAReply(outcome), work, provider)
    case .woken where work.retrying.isPaused: return again(work, provider, now)
    case .resumed:
      guard work.retrying.isPaused || purpose == .replacement else {
        return fail(.mayBeRegistered("the daemon was restarted before the provider answered"))
      }
      var work = work
      work.isLost = work.isLost || !work.retrying.isPaused
      return again(work, provider, now)
    case .input, .redirected, .listening, .listenFailed, .called, .discovered, .idTokenVerified,
      .calledBack, .told, .woken:
      return .ignore
    }
  }

  /// Once more, unless the proof has become too old for it.
  private mutating func again(
    _ work: SigningUp, _ provider: ProviderConfig, _ now: Timestamp
  ) -> Answer<BSACall> {
    let age = Duration.seconds(provider.bsa.localAuthSeconds)
    guard work.proof.map({ $0.isGood(for: age, at: now) }) ?? true else {
      return prove(work.disposeToken, provider, at: now)
    }
    return signUp(work)
  }

  private mutating func signedUp(
    _ reply: BSAReply, _ work: SigningUp, _ provider: ProviderConfig
  ) -> Answer<BSACall> {
    switch reply {
    case .said(let data):
      let secret = data.objectValue?["secretKey"]?.stringValue.map { Secret($0) }
      return .finish(completion(secret.flatMap { TOTPKey(base32: $0) == nil ? nil : $0 }))
    case .refused(.invalid) where work.isLost: return fail(.mayBeReplaced(provider.name))
    case .refused(let code): return fail(.refused(code, provider.name))
    case .failed(let fault) where fault.mayBeDone && purpose == .signUp:
      return fail(.mayBeRegistered(fault.message))
    case .failed(let fault):
      var work = work
      work.isLost = work.isLost || fault.mayBeDone
      guard let pause = work.retrying.failed() else { return fail(.unreachable(fault)) }
      stage = .signingUp(work)
      problem = .unreachable(fault.message)
      return .proceed([.wake(after: RetryBackoff.pause(pause, asked: fault.retryAfter))])
    case .unreadable(let message):
      return fail(.unusableRegistration(.protocolError(message)))
    }
  }

  /// - Parameter secret: Nil where the provider's is of no use. The person is registered all the same.
  private func completion(_ secret: Secret?) -> Completion {
    var attributes: [String: JSONValue] = [
      "userKey": .string(enrolment.userKey), "deviceId": .string(enrolment.device),
      "localAuthType": .string(enrolment.authType.sdkWord),
    ]
    // One of before means nothing to the provider any more.
    attributes["pushToken"] = enrolment.pushToken.map { .string($0) } ?? .null
    var grant = AccountGrant(
      subject: enrolment.userKey, label: enrolment.userKey, attributes: attributes, tokens: nil)
    grant.totpSecret = secret.map { Sealed($0) }
    // One of an earlier registration means nothing to the provider any more.
    grant.dropsTOTPSecret = secret == nil
    var result: [String: JSONValue] = [
      "userKey": .string(enrolment.userKey), "deviceId": .string(enrolment.device),
    ]
    if secret == nil { result["totpProblem"] = .string(Self.noSecret) }
    return Completion(grant: grant, result: result)
  }

  private static let noSecret =
    "the provider's answer has no data.secretKey that can be used: the person is registered, but there "
    + "are no one-time codes; run reregisterDevice for another secret"
}

extension Failure {
  static func noLocalAuth(_ provider: ProviderName) -> Failure {
    .impossible(
      .authType, "authType must not be none: this provider wants local authentication", provider)
  }

  /// - Parameter cause: A sentence for people.
  fileprivate static func mayBeRegistered(_ cause: String) -> Failure {
    var failure = unusableRegistration(.unreachable(cause))
    failure.retryable = false
    return failure
  }

  /// The proof of the contact is used up, it seems by a call whose answer was lost.
  fileprivate static func mayBeReplaced(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Answer lost",
      message: "the provider may have taken this device already, and its answer was lost: "
        + "until reregisterDevice is done once more, codes of this account may be worth nothing",
      retryable: true, provider: RTCode.invalid.word(provider))
  }

  /// The same, with what can be done about it.
  fileprivate static func unusableRegistration(_ failure: Failure) -> Failure {
    var failure = failure
    failure.message +=
      "; the person may be registered all the same: reregisterDevice then takes this device"
    return failure
  }
}
