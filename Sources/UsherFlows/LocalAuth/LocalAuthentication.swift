package import UsherAPI
package import UsherCore

/// The local authentication of the user within any flow; the flow's machine stores this value in
/// its state (SDK documentation, `startSimpleAuth`; page LocalAuth in Usher.docc).
///
/// The machine asks the questions of ``begin()``, shows ``step`` and ``problem``, and forwards
/// every event while the authentication runs. The machine decides what the outcome means for the
/// flow. Passcodes occur only in events and questions, never in this value.
package struct LocalAuthentication: Codable, Sendable, Equatable {
  /// The number of fingers that are not recognized after which the authentication fails, or asks
  /// for the passcode.
  package static let maxMisses = 3
  /// The maximum length of a passcode in characters.
  package static let maxPasscodeLength = 128

  package let request: LocalAuthRequest
  /// Why the last input did not succeed, or the reader's hint; nil if there is nothing to say.
  package private(set) var problem: Problem?
  private var stage = Phase.looking(Plan())
  private var misses = 0

  private enum Phase: Codable, Sendable, Equatable {
    /// Asks which methods are available. Next: scanning, asking, or the end.
    case looking(Plan)
    /// The reader waits for a finger. Next: scanning, asking, checking, or the end.
    case scanning(AvailableMethods)
    /// The user chooses a method or enters a passcode. Next: scanning, checking, or the end.
    case asking(AvailableMethods)
    /// The authenticator verifies a passcode. Next: asking, or the end.
    case checking(AvailableMethods)
    case done
  }

  /// What to do with the answer to the question which methods are available.
  private struct Plan: Codable, Sendable, Equatable {
    /// Whether a finger may be used; false if the passcode has already replaced the finger.
    var wantsFinger = true
    /// Whether the fingerprint scan starts at once, without input from the user.
    var scans = true
  }

  /// The methods of authentication that the user can still use.
  private struct AvailableMethods: Codable, Sendable, Equatable {
    var finger: Bool
    var passcode: Bool

    var methods: [Step.LocalAuth.Way] {
      (finger ? [.biometric] : []) + (passcode ? [.passcode] : [])
    }
  }

  /// The result of an event for the machine.
  package enum Progress: Sendable, Equatable {
    /// The authentication continues with these questions, in order.
    case ask([LocalAuthQuestion])
    case authenticated(LocalAuthProof)
    case failed(LocalAuthErrorCode, message: String)
    /// The input is invalid; the state does not change.
    case refuse(field: String, message: String)
    case ignore
  }

  package init(_ request: LocalAuthRequest) { self.request = request }

  /// Starts the authentication and returns the first questions to the authenticator.
  package mutating func begin() -> [LocalAuthQuestion] { queryMethods(Plan()) }

  /// Starts an authentication in a flow.
  ///
  /// - Parameter save: Stores the authentication in the flow's state.
  static func start<Call>(
    _ request: LocalAuthRequest, save: (LocalAuthentication) -> Void
  ) -> Answer<Call> {
    var authentication = LocalAuthentication(request)
    let questions = authentication.begin()
    save(authentication)
    return .asking(questions)
  }

  /// Returns the answer to an event of the flow whose state contains the authentication.
  ///
  /// - Parameters:
  ///   - save: Stores the authentication in the flow's state if it continues.
  ///   - authenticated: Returns the answer if the user has authenticated.
  ///   - failed: Returns the answer if the authentication has failed.
  func handle<Call>(
    _ event: FlowEvent<Call>, at now: Timestamp, save: (LocalAuthentication) -> Void,
    authenticated: (LocalAuthProof) -> Answer<Call>,
    failed: (LocalAuthErrorCode, _ message: String) -> Answer<Call>
  ) -> Answer<Call> {
    var authentication = self
    switch authentication.receive(event, at: now) {
    case .ask(let questions):
      save(authentication)
      return .asking(questions)
    case .authenticated(let proof): return authenticated(proof)
    case .failed(let errorCode, let message): return failed(errorCode, message)
    case .refuse(let field, let message): return .refuse(field: field, message: message)
    case .ignore: return .ignore
    }
  }

  /// The step that the user sees: `localAuth`, or `wait` while no input is expected.
  package var step: Step {
    switch stage {
    case .looking, .done: .wait(.init(for: "the check for a fingerprint reader"))
    case .scanning(let available): .localAuth(step(available, isScanning: true))
    case .asking(let available): .localAuth(step(available, isScanning: false))
    case .checking: .wait(.init(for: "the passcode check"))
    }
  }

  /// The name of the present phase, for ``FlowView/state``.
  package var state: String {
    switch stage {
    case .looking: "looking"
    case .scanning: "scanning"
    case .asking: "asking"
    case .checking: "checking"
    case .done: "done"
    }
  }

  private func step(_ available: AvailableMethods, isScanning: Bool) -> Step.LocalAuth {
    Step.LocalAuth(methods: available.methods, reason: request.reason, scanning: isScanning)
  }

  /// Returns the result of an event; `.ignore` if the event does not concern the authentication.
  package mutating func receive<Call>(_ event: FlowEvent<Call>, at now: Timestamp) -> Progress {
    switch event {
    case .input(let input): handleInput(input)
    case .daemon(.answered(.localAuth(let answer))): handleAnswer(answer, at: now)
    case .daemon(.resumed): resume()
    case .browser, .provider, .woken, .daemon: .ignore
    }
  }

  /// Continues after a restart of the daemon: an interrupted question, fingerprint scan or passcode
  /// check begins again with the question which methods are available.
  private mutating func resume() -> Progress {
    switch stage {
    case .looking(let plan): return .ask(queryMethods(plan))
    case .scanning:
      problem = .interrupted
      return .ask(queryMethods(Plan()))
    case .checking(let available):
      problem = .interrupted
      return .ask(queryMethods(Plan(wantsFinger: available.finger, scans: false)))
    // The problem names the remaining time of the lock, which has changed since.
    case .asking(let available) where problem?.reason == Problem.passcodeLockedReason:
      problem = nil
      return .ask(queryMethods(Plan(wantsFinger: available.finger, scans: false)))
    case .asking, .done: return .ignore
    }
  }

  private mutating func queryMethods(_ plan: Plan) -> [LocalAuthQuestion] {
    stage = .looking(plan)
    return [
      request.localAuthType == .biometric && plan.wantsFinger
        ? .availability : .passcodeAvailability
    ]
  }

  private mutating func fail(_ errorCode: LocalAuthErrorCode, _ message: String) -> Progress {
    stage = .done
    problem = nil
    return .failed(errorCode, message: message)
  }

  private mutating func succeed(by method: LocalAuthType, at now: Timestamp) -> Progress {
    stage = .done
    problem = nil
    let proof = LocalAuthProof(method: method, at: now, insteadOf: replaced(by: method))
    return .authenticated(proof)
  }

  /// Returns the requested method if the user authenticates by another one; nil if not.
  private func replaced(by method: LocalAuthType) -> LocalAuthType? {
    request.localAuthType == method ? nil : request.localAuthType
  }
}

// MARK: - The user's input

extension LocalAuthentication {
  private mutating func handleInput(_ input: FlowInput) -> Progress {
    switch (input, stage) {
    case (.passcode(let passcode), .scanning(let available)),
      (.passcode(let passcode), .asking(let available)):
      return available.passcode ? check(passcode, available) : .ignore
    case (.biometric, .asking(let available)) where available.finger: return scan(available, nil)
    case (.cancelLocalAuth, .scanning), (.cancelLocalAuth, .asking):
      return fail(.userCancel, "cancelled by the person")
    case (.fallback, .scanning(let available)), (.fallback, .asking(let available)):
      return fallBack(available)
    default: return .ignore
    }
  }

  private mutating func check(_ passcode: Secret, _ available: AvailableMethods) -> Progress {
    let length = passcode.revealed().count
    guard (1...Self.maxPasscodeLength).contains(length) else {
      return .refuse(
        field: "input.passcode",
        message: "input.passcode must have 1 to \(Self.maxPasscodeLength) characters")
    }
    stage = .checking(available)
    problem = nil
    return .ask([.check(passcode: passcode, insteadOf: replaced(by: .passcode))])
  }

  private mutating func scan(_ available: AvailableMethods, _ problem: Problem?) -> Progress {
    stage = .scanning(available)
    self.problem = problem
    return .ask([request.checkDomainStateChanged ? .scanOfSavedFingers : .scan])
  }

  /// Asks for the passcode instead of a finger at the user's request. Cancels the authentication if
  /// the request does not allow a passcode in place of a finger.
  private mutating func fallBack(_ available: AvailableMethods) -> Progress {
    guard available.finger, request.usePasscodeWhenFailed else {
      return fail(.userFallback, "cancelled: the person chose another method")
    }
    return switchToPasscode(available, nil)
  }

  /// Asks for the passcode instead of a finger, or fails if that is not allowed.
  ///
  /// - Parameter problem: Why the finger cannot be used; nil if the user wants the passcode.
  private mutating func switchToPasscode(_ available: AvailableMethods, _ problem: Problem?)
    -> Progress
  {
    guard available.passcode else { return fail(.passcodeNotEnrolledDevice, Self.noPasscode) }
    stage = .asking(AvailableMethods(finger: false, passcode: true))
    self.problem = problem
    return .ask([])
  }

  private static let fingersChanged = "the enrolled fingers have changed since they were saved"

  private static let noPasscode = "no passcode is set on this machine; run: usherctl local passcode"
}

// MARK: - The authenticator's answers

extension LocalAuthentication {
  private mutating func handleAnswer(_ answer: LocalAuthAnswer, at now: Timestamp) -> Progress {
    switch (answer, stage) {
    case (.availability(let availability), .looking(let plan)):
      return handleAvailability(availability, plan, now)
    case (.hint(let sentence), .scanning):
      problem = .scanAgain(sentence)
      return .ask([])
    case (.scanned(let outcome), .scanning(let available)): return scanned(outcome, available, now)
    case (.checked(let outcome), .checking(let available)): return checked(outcome, available, now)
    case (.availability, _), (.hint, _), (.scanned, _), (.checked, _): return .ignore
    }
  }

  private mutating func handleAvailability(
    _ availability: LocalAuthAvailability, _ plan: Plan, _ now: Timestamp
  ) -> Progress {
    if request.localAuthType == .biometric, request.checkDomainStateChanged, availability.hasChanged
    {
      return fail(.domainStateChanged, Self.fingersChanged)
    }
    if let proof = earlierProof(availability, now) {
      stage = .done
      problem = nil
      return .authenticated(proof)
    }
    let mayUsePasscode = request.localAuthType == .passcode || request.usePasscodeWhenFailed
    let hasPasscode = mayUsePasscode && availability.passcode != .notEnrolled
    guard request.localAuthType == .biometric, plan.wantsFinger else {
      return askForPasscode(hasPasscode, availability.passcode, problem, now)
    }
    if let error = BiometricError(availability.biometric, now) {
      guard request.usePasscodeWhenFailed else { return fail(error.errorCode, error.message) }
      return askForPasscode(hasPasscode, availability.passcode, problem ?? .init(error), now)
    }
    let available = AvailableMethods(finger: true, passcode: hasPasscode)
    if plan.scans { return scan(available, problem) }
    stage = .asking(available)
    return .ask([])
  }

  /// Returns an earlier successful authentication that is recent enough and satisfies the request;
  /// nil if there is none.
  private func earlierProof(
    _ availability: LocalAuthAvailability, _ now: Timestamp
  ) -> LocalAuthProof? {
    guard let seconds = request.goodForSeconds else { return nil }
    return availability.latest.first {
      $0.serves(request.localAuthType) && $0.isFresh(for: .seconds(seconds), at: now)
    }
  }

  private mutating func askForPasscode(
    _ hasPasscode: Bool, _ availability: LocalAuthAvailability.Passcode, _ problem: Problem?,
    _ now: Timestamp
  ) -> Progress {
    guard hasPasscode else { return fail(.passcodeNotEnrolledDevice, Self.noPasscode) }
    stage = .asking(AvailableMethods(finger: false, passcode: true))
    self.problem = problem
    if case .lockedOut(let until) = availability { self.problem = .passcodeLocked(until, now) }
    return .ask([])
  }

  private mutating func scanned(
    _ outcome: ScanOutcome, _ available: AvailableMethods, _ now: Timestamp
  ) -> Progress {
    switch outcome {
    case .matched: return succeed(by: .biometric, at: now)
    case .changed: return fail(.domainStateChanged, Self.fingersChanged)
    case .missed:
      misses += 1
      let left = Self.maxMisses - misses
      if left > 0 { return scan(available, .notRecognised(attemptsLeft: left)) }
      return continueWithoutFinger(
        BiometricError(.authFailed, "none of \(Self.maxMisses) fingers was recognised"), available)
    case .timedOut:
      stage = .asking(available)
      problem = .scanTimedOut
      return .ask([])
    case .lockedOut(let until): return continueWithoutFinger(.locked(until, now), available)
    case .noReader: return continueWithoutFinger(.noReader, available)
    case .notEnrolled: return continueWithoutFinger(.notEnrolled, available)
    case .unavailable(let sentence):
      return continueWithoutFinger(BiometricError(.biometricNotAvailable, sentence), available)
    }
  }

  private mutating func continueWithoutFinger(
    _ error: BiometricError, _ available: AvailableMethods
  ) -> Progress {
    guard request.usePasscodeWhenFailed else { return fail(error.errorCode, error.message) }
    return switchToPasscode(available, Problem(error))
  }

  private mutating func checked(
    _ outcome: PasscodeOutcome, _ available: AvailableMethods, _ now: Timestamp
  ) -> Progress {
    switch outcome {
    case .accepted: return succeed(by: .passcode, at: now)
    case .notEnrolled: return fail(.passcodeNotEnrolledDevice, Self.noPasscode)
    case .wrong(let attemptsLeft): problem = .wrongPasscode(attemptsLeft: attemptsLeft)
    case .lockedOut(let until): problem = .passcodeLocked(until, now)
    case .unavailable(let sentence): problem = .passcodeUnavailable(sentence)
    }
    stage = .asking(available)
    return .ask([])
  }
}
