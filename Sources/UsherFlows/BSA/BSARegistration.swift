import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

/// The registration of a user and a device: the common part of `register` and `reregisterDevice`
/// (provider contract §5.6).
package struct BSARegistration: RetryingMachine, Codable, Sendable, Equatable {
  package enum Purpose: String, Codable, Sendable {
    /// Registers the user and the user's first device. A call that may have succeeded is never
    /// repeated.
    case signUp
    /// Replaces the user's device by this machine; the call is safe to repeat.
    case replacement
  }

  let purpose: Purpose
  private var enrolment: BSAEnrolment
  /// Whether the authentication method is the one that the user is already registered with, as BSA
  /// reports it, because the caller named none.
  private let takesRegisteredType: Bool
  private var stage: Phase
  var problem: Problem?

  private enum Phase: Codable, Sendable, Equatable {
    /// The user proves to receive messages at the contact. Next: proving, signingUp, or the end.
    case verifying(ContactVerification)
    /// The user authenticates locally. Next: signingUp, or the end.
    ///
    /// - Parameter isLost: True if an earlier registration may have succeeded although its reply
    ///   was lost; nil otherwise, as in the flows that earlier versions have stored.
    case proving(Sealed<Secret>, LocalAuthentication, isLost: Bool?)
    /// The registration is sent to BSA. Next: proving, or the end.
    case signingUp(SigningUp)
    /// The registration has failed.
    ///
    /// - Parameter state: The last state that the flow's view showed.
    case over(Failure, state: String)
  }

  private struct SigningUp: Codable, Sendable, Equatable {
    let disposeToken: Sealed<Secret>
    /// The user's local authentication; nil if the method is `none`.
    let proof: LocalAuthProof?
    var retrying = RetryBackoff()
    /// Whether an earlier call may have succeeded although its reply was lost.
    var isLost = false
  }

  /// Starts a registration.
  ///
  /// - Parameters:
  ///   - disposeToken: BSA's proof that the user verified the contact; nil if the user still has
  ///     to.
  ///   - authType: The authentication method; nil for the one that BSA has registered.
  static func begin(
    _ purpose: Purpose, _ enrolment: BSAEnrolment, authType: BSAAuthType?,
    disposeToken: Sealed<Secret>?, _ context: FlowContext<BSASettings>, at now: Timestamp
  ) -> (BSARegistration, Answer<BSACall>) {
    let member = BSAMember(userKey: enrolment.userKey, name: enrolment.name)
    var verification = ContactVerification(
      enrolment.contact, of: purpose == .replacement ? member : nil, context)
    let effects = verification.begin()
    var registration = BSARegistration(
      purpose: purpose, enrolment: enrolment, takesRegisteredType: authType == nil,
      stage: .verifying(verification))
    guard let disposeToken else { return (registration, .proceed(effects)) }
    let answer = registration.prove(disposeToken, context.provider, at: now)
    return (registration, answer)
  }

  func view(_ provider: Provider<BSASettings>) -> FlowView {
    switch stage {
    case .verifying(let verification):
      FlowView(
        state: verification.state, step: verification.step(provider.settings),
        problem: verification.problem)
    case .proving(_, let authentication, _):
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
    case .proving(let token, let authentication, let isLost):
      proving(event, token, authentication, isLost ?? false, provider, now)
    case .signingUp(let work): signingUp(event, work, provider, now)
    case .over(let failure, _): event == .daemon(.resumed) ? .fail(failure) : .ignore
    }
  }

  /// See ``FlowMachine/unknownOutcome``.
  var unknownOutcome: String? {
    switch stage {
    case .verifying(let verification): verification.unknownOutcome
    case .signingUp(let work): work.retrying.isPaused ? nil : .operationUnknown
    case .proving(_, _, isLost: true): .operationUnknown
    case .proving, .over: nil
    }
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
    let answer = verification.receive(event, provider, at: now)
    stage = .verifying(verification)
    // The user need not type a number for a registration that is going to fail.
    if case .proceed = answer, takesRegisteredType, verification.isAsking {
      guard let type = verification.registered else { return fail(.missingMember("data.authType")) }
      enrolment.authType = type
      guard type != .none || provider.settings.allowNoLocalAuth else {
        return fail(.noLocalAuth(provider.name))
      }
    }
    return answer.flowAnswer {
      prove($0, provider, at: now)
    } failed: {
      fail($0)
    }
  }
}

// MARK: - The user

extension BSARegistration {
  private mutating func prove(
    _ disposeToken: Sealed<Secret>, _ provider: Provider<BSASettings>, isLost: Bool = false,
    at now: Timestamp
  ) -> Answer<BSACall> {
    guard let type = enrolment.authType.localAuthType else {
      guard provider.settings.allowNoLocalAuth else { return fail(.noLocalAuth(provider.name)) }
      return signUp(SigningUp(disposeToken: disposeToken, proof: nil))
    }
    // The fingers are not compared with saved ones: before a sign-up there are none (SDK
    // documentation).
    let request = LocalAuthRequest(
      localAuthType: type, reason: "register \(enrolment.userKey) at \(provider.name)",
      goodForSeconds: provider.settings.localAuthSeconds)
    problem = nil
    return LocalAuthentication.start(request) {
      stage = .proving(disposeToken, $0, isLost: isLost ? true : nil)
    }
  }

  private mutating func proving(
    _ event: FlowEvent<BSACall>, _ disposeToken: Sealed<Secret>,
    _ authentication: LocalAuthentication, _ isLost: Bool, _ provider: Provider<BSASettings>,
    _ now: Timestamp
  ) -> Answer<BSACall> {
    authentication.handle(event, at: now) {
      stage = .proving(disposeToken, $0, isLost: isLost ? true : nil)
    } authenticated: { proof in
      signUp(SigningUp(disposeToken: disposeToken, proof: proof, isLost: isLost))
    } failed: {
      fail(.notIdentified($0, $1, provider.name))
    }
  }
}

// MARK: - The registration

extension BSARegistration {
  private mutating func signUp(_ work: SigningUp) -> Answer<BSACall> {
    stage = .signingUp(copy(work) { $0.retrying.endPause() })
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
      return signedUp(BSAReply(outcome, to: call(work)), work, provider)
    case .woken where work.retrying.isPaused: return again(work, provider, now)
    case .daemon(.resumed):
      guard work.retrying.isPaused || purpose == .replacement else {
        return fail(.mayBeRegistered("the daemon was restarted before the provider answered"))
      }
      let mayBeDone = work.isLost || !work.retrying.isPaused
      return again(copy(work) { $0.isLost = mayBeDone }, provider, now)
    case .input, .browser, .provider, .daemon, .woken: return .ignore
    }
  }

  /// Repeats the registration. If the local authentication has become too old, the user
  /// authenticates again first.
  private mutating func again(
    _ work: SigningUp, _ provider: Provider<BSASettings>, _ now: Timestamp
  ) -> Answer<BSACall> {
    let age = Duration.seconds(provider.settings.localAuthSeconds)
    guard work.proof.map({ $0.isFresh(for: age, at: now) }) ?? true else {
      return prove(work.disposeToken, provider, isLost: work.isLost, at: now)
    }
    return signUp(work)
  }

  private mutating func signedUp(
    _ reply: BSAReply, _ work: SigningUp, _ provider: Provider<BSASettings>
  ) -> Answer<BSACall> {
    switch reply {
    case .success(let data):
      let secret = data.objectValue?["secretKey"]?.stringValue.map { Secret($0) }
      var completion = completion(secret.flatMap { TOTPKey(base32: $0) == nil ? nil : $0 })
      // Each later sign-in compares the enrolled fingers with these (SDK documentation).
      completion.savesFingers = work.proof?.serves(.biometric) ?? false
      return .finish(completion)
    case .refused(RTCode.invalid) where work.isLost: return fail(.mayBeReplaced(provider.name))
    case .refused(let refusal): return fail(.refused(refusal, provider.name))
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

  /// Returns the result and the account to store.
  ///
  /// - Parameter secret: The secret for one-time codes; nil if BSA sent no usable one. The user is
  ///   registered even then.
  private func completion(_ secret: Secret?) -> Completion {
    var attributes: [String: JSONValue] = [
      "userKey": .string(enrolment.userKey), "deviceId": .string(enrolment.device),
      "localAuthType": .string(enrolment.authType.sdkName),
    ]
    // The new registration replaced the push token of an earlier one.
    attributes["pushToken"] = enrolment.pushToken.map { .string($0) } ?? .null
    var grant = AccountGrant(
      subject: enrolment.userKey, label: enrolment.userKey, attributes: attributes, tokens: nil)
    grant.totpSecret = secret.map { Sealed($0) }
    // BSA no longer accepts the secret of an earlier registration.
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

  /// The failure of a sign-up that may have succeeded, because the reply was lost.
  ///
  /// - Parameter cause: A sentence for users.
  fileprivate static func mayBeRegistered(_ cause: String) -> Failure {
    unusableRegistration(.unreachable(cause, retryable: false))
  }

  /// The failure of a repeated device replacement: BSA says that the proof of the contact was used
  /// up, probably by an earlier call whose reply was lost.
  fileprivate static func mayBeReplaced(_ provider: ProviderName) -> Failure {
    Failure(
      reason: .providerRejected, title: "Answer lost",
      message: "the provider may have registered this device already, but its answer was lost: "
        + "run reregisterDevice again; until then, codes of this account may be invalid",
      retryable: true, provider: RTCode.invalid.providerErrorCode(provider))
  }

  /// Adds the hint that the user may be registered nevertheless.
  fileprivate static func unusableRegistration(_ failure: Failure) -> Failure {
    copy(failure) {
      $0.message +=
        "; the person may be registered nevertheless: if so, run reregisterDevice for this device"
    }
  }
}
