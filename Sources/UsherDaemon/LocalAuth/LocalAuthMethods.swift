import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherSystem

/// Implementation of `localAuth.status` and `localAuth.setPasscode`.
extension LocalAuthService {
  /// The permitted number of characters of a passcode.
  private static let passcodeLength = 4...LocalAuthentication.maxPasscodeLength

  func status(_ caller: Caller) async -> LocalAuthStatus.Reply {
    let (availability, fingers) = await availability(of: caller.person)
    return .init(availability, fingers: fingers)
  }

  /// - Parameter willStore: Called before a passcode is stored for another user than the caller.
  func setPasscode(
    _ call: LocalAuthSetPasscode, _ caller: Caller,
    willStore: (LocalPerson) async throws(UsherError) -> Void = { _ in }
  ) async throws(UsherError) -> Done {
    let person = try await person(call, caller)
    try checkNew(call.new)
    try checkFirst(person, caller)
    if call.uid != nil { try await willStore(person) }
    let isReset = caller.isAdmin && call.old == nil
    let change = try await setPasscode(
      call.new.secret, old: call.old?.secret, isReset: isReset, of: person)
    switch change {
    case .done: return Done()
    case .oldIsNeeded:
      throw UsherError(.invalidParams, "a passcode is set: \"old\" is required", field: "old")
    case .refused(let outcome):
      throw outcome.refusal(
        "the old passcode", field: "old", at: dependencies.clock.now(),
        ifNotEnrolled: UsherError(
          .invalidParams, "no passcode is set, so \"old\" must be absent", field: "old"))
    }
  }

  private func person(
    _ call: LocalAuthSetPasscode, _ caller: Caller
  ) async throws(UsherError) -> LocalPerson {
    guard let uid = call.uid else { return caller.person }
    guard caller.isAdmin else {
      throw UsherError(
        .permissionDenied,
        "another user's passcode can be set on the admin socket only", field: "uid")
    }
    switch await dependencies.lookups.user(uid) {
    case .named: break
    case .nameless:
      throw UsherError(.notFound, "user \(uid) does not exist", field: "uid")
    case .failed: throw UserLookups.noAnswer
    }
    return LocalPerson(realm: caller.owner.realm, uid: uid)
  }

  /// Checks that the caller may set a user's first passcode. A client whose rule requires a proof
  /// of presence may not, because it could then provide the proof itself.
  private func checkFirst(_ person: LocalPerson, _ caller: Caller) throws(UsherError) {
    guard !caller.isAdmin, caller.policy.asksPeople, passcode(of: person) == .notEnrolled
    else { return }
    throw UsherError(
      .permissionDenied,
      "your rule requires a person: another program or the operator must set the first passcode")
  }

  private func checkNew(_ passcode: WireSecret) throws(UsherError) {
    let text = passcode.revealed()
    guard Self.passcodeLength.contains(text.count), text.utf8.count <= 1024,
      !text.allSatisfy(\.isWhitespace)
    else {
      let (least, most) = (Self.passcodeLength.lowerBound, Self.passcodeLength.upperBound)
      throw UsherError(
        .invalidParams,
        "\"new\" must have \(least) to \(most) characters, not all of them blank", field: "new")
    }
  }
}

extension PasscodeOutcome {
  /// Returns the error for a passcode that was not accepted.
  ///
  /// - Parameters:
  ///   - name: The name of the passcode in the error's message.
  ///   - missing: The error if the user has no passcode.
  func refusal(
    _ name: String, field: String, at now: Timestamp, ifNotEnrolled missing: UsherError
  ) -> UsherError {
    switch self {
    case .wrong(let left):
      let attempts = left == 1 ? "1 attempt" : "\(left) attempts"
      return UsherError(.permissionDenied, "\(name) is wrong; \(attempts) left", field: field)
    case .lockedOut(let until):
      let wait = max(until - now, .zero)
      return UsherError(
        .rateLimited,
        "too many wrong passcodes: the passcode is locked for another \(wait.inWords)",
        detail: .init(
          retryAfterMs: Int(wait.milliseconds), field: field, limit: "passcode_attempts"))
    case .notEnrolled, .accepted: return missing
    case .unavailable(let sentence): return UsherError(.storageUnavailable, sentence)
    }
  }
}

extension LocalAuthStatus.Reply {
  init(_ availability: LocalAuthAvailability, fingers: Int?) {
    var methods: [Step.LocalAuth.Way] = []
    var biometric = LocalAuthStatus.Biometric(state: .ready, fingers: fingers)
    switch availability.biometric {
    case .ready: methods.append(.biometric)
    case .noReader: biometric.state = .noReader
    case .notEnrolled: biometric.state = .notEnrolled
    case .lockedOut(let until):
      biometric.state = .lockedOut
      biometric.lockedUntil = until
    case .unavailable(let sentence):
      biometric.state = .unavailable
      biometric.message = sentence
    }
    var passcode = LocalAuthStatus.Passcode(state: .ready)
    switch availability.passcode {
    case .ready: methods.append(.passcode)
    case .notEnrolled: passcode.state = .notEnrolled
    case .lockedOut(let until):
      passcode.state = .lockedOut
      passcode.lockedUntil = until
    }
    self.init(methods: methods, biometric: biometric, passcode: passcode)
  }
}
