package import UsherAPI
package import UsherCore

/// Local authentication as a step of any flow, stored inside the machine's state (seed,
/// `startSimpleAuth`; the page LocalAuth of the documentation).
///
/// The machine asks the questions of ``begin()``, shows ``step`` and ``problem``, and forwards
/// every event while this step is active. It decides itself what the outcome means for the flow.
/// Passcodes occur only in events and questions, never in this value.
package struct LocalAuthentication: Codable, Sendable, Equatable {
  /// The number of unrecognised fingers that ends an authentication, or moves it to the passcode.
  package static let missLimit = 3
  /// The maximum length of a passcode in characters.
  package static let longestPasscode = 128

  package let request: LocalAuthRequest
  /// Why the last input did not advance the flow, or the reader's hint.
  package private(set) var problem: Problem?
  private var stage = Phase.looking(Plan())
  private var misses = 0

  private enum Phase: Codable, Sendable, Equatable {
    /// Waiting for the list of available methods. → scanning, asking, or the end
    case looking(Plan)
    /// The reader waits for a finger. → scanning, asking, checking, or the end
    case scanning(Means)
    /// The user has to choose a method or enter a passcode. → scanning, checking, or the end
    case asking(Means)
    /// A passcode is being verified. → asking, or the end
    case checking(Means)
    case done
  }

  /// The purpose of a question about the available methods.
  private struct Plan: Codable, Sendable, Equatable {
    /// Whether a finger is still allowed.
    var wantsFinger = true
    /// Whether a scan starts without user input.
    var scans = true
  }

  /// The methods that the user can still use.
  private struct Means: Codable, Sendable, Equatable {
    var finger: Bool
    var passcode: Bool

    var methods: [Step.LocalAuth.Way] {
      (finger ? [.biometric] : []) + (passcode ? [.passcode] : [])
    }
  }

  /// The result of an event.
  package enum Progress: Sendable, Equatable {
    /// The authentication continues with these questions, in order.
    case ask([LocalAuthQuestion])
    case authenticated(LocalAuthProof)
    case failed(LocalAuthWord, message: String)
    /// The input is invalid; the state does not change.
    case refuse(field: String, message: String)
    case ignore
  }

  package init(_ request: LocalAuthRequest) { self.request = request }

  /// Returns the first questions.
  package mutating func begin() -> [LocalAuthQuestion] { look(Plan()) }

  /// `localAuth`, or `wait` while no input is expected.
  package var step: Step {
    switch stage {
    case .looking, .done: .wait(.init(for: "the check for a fingerprint reader"))
    case .scanning(let means): .localAuth(step(means, isScanning: true))
    case .asking(let means): .localAuth(step(means, isScanning: false))
    case .checking: .wait(.init(for: "the passcode check"))
    }
  }

  /// The name of the phase for ``FlowView/state``.
  package var state: String {
    switch stage {
    case .looking: "looking"
    case .scanning: "scanning"
    case .asking: "asking"
    case .checking: "checking"
    case .done: "done"
    }
  }

  private func step(_ means: Means, isScanning: Bool) -> Step.LocalAuth {
    Step.LocalAuth(methods: means.methods, reason: request.reason, scanning: isScanning)
  }

  /// Returns the result of an event; `.ignore` if the event does not concern this step.
  package mutating func receive<Call>(
    _ event: FlowEvent<Call>, at now: Timestamp
  ) -> Progress {
    switch event {
    case .input(let input): take(input)
    case .daemon(.told(.localAuth(let news))): hear(news, at: now)
    case .daemon(.resumed): resume()
    case .browser, .provider, .woken, .daemon:
      .ignore
    }
  }

  /// Repeats the operation that a restart interrupted.
  private mutating func resume() -> Progress {
    switch stage {
    case .looking(let plan): return .ask(look(plan))
    case .scanning:
      problem = .interrupted
      return .ask(look(Plan()))
    case .checking(let means):
      problem = .interrupted
      return .ask(look(Plan(wantsFinger: means.finger, scans: false)))
    // The remaining time of the lock has changed since the problem was written.
    case .asking(let means) where problem?.reason == Problem.passcodeLockedReason:
      problem = nil
      return .ask(look(Plan(wantsFinger: means.finger, scans: false)))
    case .asking, .done: return .ignore
    }
  }

  private mutating func look(_ plan: Plan) -> [LocalAuthQuestion] {
    stage = .looking(plan)
    return [request.localAuthType == .biometric && plan.wantsFinger ? .standing : .passcodeStanding]
  }

  private mutating func fail(_ word: LocalAuthWord, _ message: String) -> Progress {
    stage = .done
    problem = nil
    return .failed(word, message: message)
  }

  private mutating func succeed(by method: LocalAuthType, at now: Timestamp) -> Progress {
    stage = .done
    problem = nil
    let proof = LocalAuthProof(method: method, at: now, insteadOf: replaced(by: method))
    return .authenticated(proof)
  }

  /// Returns the requested method if `method` is another one.
  private func replaced(by method: LocalAuthType) -> LocalAuthType? {
    request.localAuthType == method ? nil : request.localAuthType
  }
}

// MARK: - The user's input

extension LocalAuthentication {
  private mutating func take(_ input: FlowInput) -> Progress {
    switch (input, stage) {
    case (.passcode(let passcode), .scanning(let means)),
      (.passcode(let passcode), .asking(let means)):
      return means.passcode ? check(passcode, means) : .ignore
    case (.biometric, .asking(let means)) where means.finger: return scan(means, nil)
    case (.cancelLocalAuth, .scanning), (.cancelLocalAuth, .asking):
      return fail(.userCancel, "cancelled by the person")
    case (.fallback, .scanning(let means)), (.fallback, .asking(let means)):
      return fallBack(means)
    default: return .ignore
    }
  }

  private mutating func check(_ passcode: Secret, _ means: Means) -> Progress {
    let length = passcode.revealed().count
    guard (1...Self.longestPasscode).contains(length) else {
      return .refuse(
        field: "input.passcode",
        message: "input.passcode must have 1 to \(Self.longestPasscode) characters")
    }
    stage = .checking(means)
    problem = nil
    return .ask([.check(passcode: passcode, insteadOf: replaced(by: .passcode))])
  }

  private mutating func scan(_ means: Means, _ problem: Problem?) -> Progress {
    stage = .scanning(means)
    self.problem = problem
    return .ask([request.checkDomainStateChanged ? .scanOfSavedFingers : .scan])
  }

  /// Gives up on the finger, at the user's request.
  private mutating func fallBack(_ means: Means) -> Progress {
    guard means.finger, request.usePasscodeWhenFailed else {
      return fail(.userFallback, "cancelled: the person chose another method")
    }
    return leaveFinger(means, nil)
  }

  /// - Parameter problem: The reason; nil if the user requested it.
  private mutating func leaveFinger(_ means: Means, _ problem: Problem?) -> Progress {
    guard means.passcode else { return fail(.passcodeNotEnrolledDevice, Self.noPasscode) }
    stage = .asking(Means(finger: false, passcode: true))
    self.problem = problem
    return .ask([])
  }

  private static let otherFingers = "the enrolled fingers have changed since they were saved"

  private static let noPasscode = "no passcode is set on this machine; run: usherctl local passcode"
}

// MARK: - The authenticator's answers

extension LocalAuthentication {
  private mutating func hear(_ news: LocalAuthNews, at now: Timestamp) -> Progress {
    switch (news, stage) {
    case (.standing(let standing), .looking(let plan)): return stand(standing, plan, now)
    case (.hint(let sentence), .scanning):
      problem = .scanAgain(sentence)
      return .ask([])
    case (.scanned(let outcome), .scanning(let means)): return scanned(outcome, means, now)
    case (.checked(let outcome), .checking(let means)): return checked(outcome, means, now)
    case (.standing, _), (.hint, _), (.scanned, _), (.checked, _): return .ignore
    }
  }

  private mutating func stand(
    _ standing: LocalAuthStanding, _ plan: Plan, _ now: Timestamp
  ) -> Progress {
    if request.localAuthType == .biometric, request.checkDomainStateChanged, standing.hasChanged {
      return fail(.domainStateChanged, Self.otherFingers)
    }
    if let proof = earlierProof(standing, now) {
      stage = .done
      problem = nil
      return .authenticated(proof)
    }
    let mayUsePasscode = request.localAuthType == .passcode || request.usePasscodeWhenFailed
    let hasPasscode = mayUsePasscode && standing.passcode != .notEnrolled
    guard request.localAuthType == .biometric, plan.wantsFinger else {
      return askForPasscode(hasPasscode, standing.passcode, problem, now)
    }
    if let obstacle = Obstacle(standing.biometric, now) {
      guard request.usePasscodeWhenFailed else { return fail(obstacle.word, obstacle.message) }
      return askForPasscode(hasPasscode, standing.passcode, problem ?? .init(obstacle), now)
    }
    let means = Means(finger: true, passcode: hasPasscode)
    if plan.scans { return scan(means, problem) }
    stage = .asking(means)
    return .ask([])
  }

  /// Returns an earlier proof that is recent enough and satisfies the request.
  private func earlierProof(
    _ standing: LocalAuthStanding, _ now: Timestamp
  ) -> LocalAuthProof? {
    guard let seconds = request.goodForSeconds else { return nil }
    return standing.latest.first {
      $0.serves(request.localAuthType) && $0.isGood(for: .seconds(seconds), at: now)
    }
  }

  private mutating func askForPasscode(
    _ isThere: Bool, _ standing: LocalAuthStanding.Passcode, _ problem: Problem?, _ now: Timestamp
  ) -> Progress {
    guard isThere else { return fail(.passcodeNotEnrolledDevice, Self.noPasscode) }
    stage = .asking(Means(finger: false, passcode: true))
    self.problem = problem
    if case .lockedOut(let until) = standing { self.problem = .passcodeLocked(until, now) }
    return .ask([])
  }

  private mutating func scanned(
    _ outcome: ScanOutcome, _ means: Means, _ now: Timestamp
  ) -> Progress {
    switch outcome {
    case .matched: return succeed(by: .biometric, at: now)
    case .changed: return fail(.domainStateChanged, Self.otherFingers)
    case .missed:
      misses += 1
      let left = Self.missLimit - misses
      if left > 0 { return scan(means, .notRecognised(attemptsLeft: left)) }
      return without(
        Obstacle(.authFailed, "none of \(Self.missLimit) fingers was recognised"), means)
    case .timedOut:
      stage = .asking(means)
      problem = .scanTimedOut
      return .ask([])
    case .lockedOut(let until): return without(.locked(until, now), means)
    case .noReader: return without(.noReader, means)
    case .notEnrolled: return without(.notEnrolled, means)
    case .unavailable(let sentence):
      return without(Obstacle(.biometricNotAvailable, sentence), means)
    }
  }

  private mutating func without(_ obstacle: Obstacle, _ means: Means) -> Progress {
    guard request.usePasscodeWhenFailed else { return fail(obstacle.word, obstacle.message) }
    return leaveFinger(means, Problem(obstacle))
  }

  private mutating func checked(
    _ outcome: PasscodeOutcome, _ means: Means, _ now: Timestamp
  ) -> Progress {
    switch outcome {
    case .accepted: return succeed(by: .passcode, at: now)
    case .notEnrolled: return fail(.passcodeNotEnrolledDevice, Self.noPasscode)
    case .wrong(let attemptsLeft): problem = .wrongPasscode(attemptsLeft: attemptsLeft)
    case .lockedOut(let until): problem = .passcodeLocked(until, now)
    case .unavailable(let sentence): problem = .passcodeUnavailable(sentence)
    }
    stage = .asking(means)
    return .ask([])
  }
}
