import Glibc
import Synchronization
import UsherAPI
import UsherClient

/// The parameters of `startSimpleAuth` (page LocalAuth in Usher.docc).
struct LocalAuthOptions: Sendable, Equatable {
  var type: BSA.Enums.LocalAuthType
  var reason: String
  var checkDomainStateChanged: Bool
  var usePasscodeWhenFailed: Bool

  var params: JSONValue {
    [
      "localAuthType": .string(type.apiValue), "reason": .string(shownReason),
      "checkDomainStateChanged": .bool(checkDomainStateChanged),
      "usePasscodeWhenFailed": .bool(usePasscodeWhenFailed),
    ]
  }
}

extension LocalAuthOptions {
  /// The maximum length of a reason in characters. The daemon accepts 1024 bytes, and no character
  /// has more than 4.
  private static let maxReason = 256
  private static let generalReason = "confirm that it is you"

  /// The reason in a form that the daemon accepts: the SDK refuses no reason. Control characters
  /// become spaces.
  private var shownReason: String {
    var scalars = String.UnicodeScalarView()
    for scalar in reason.unicodeScalars.prefix(Self.maxReason) {
      scalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    let text = String(scalars)
    return text.allSatisfy(\.isWhitespace) ? Self.generalReason : text
  }
}

extension BSAService {
  /// Authenticates the person at this machine with a flow `local/authenticate`. If the flow cannot
  /// be read any more or the task is cancelled, this tries to cancel the flow.
  func authenticate(_ request: LocalAuthOptions) async throws(BSA.LocalAuthHelper.Failure) {
    let isAsked = Atomic(false)
    let failure: BSA.LocalAuthHelper.Failure?
    do {
      let session = try await provider.client.beginFlow(
        provider: "local", kind: "authenticate", params: request.params)
      let driver = FlowDriver(session) { [self] flow, fault in
        guard let question = try BSA.LocalAuth.Question(flow, fault) else { return nil }
        guard let prompt = promptThatCanAsk else {
          if question.isScanning { return nil }
          throw BSA.LocalAuthHelper.Failure(withoutPrompt: question)
        }
        isAsked.store(true, ordering: .relaxed)
        guard case .submit(let input) = await prompt.answer(question).act else { return nil }
        return input
      }
      failure = try await driver.runOrCancel().failure.map { failure in
        Task.isCancelled ? .init(CancellationError()) : .init(failure)
      }
    } catch {
      failure = .init(error)
    }
    if isAsked.load(ordering: .relaxed) { await prompt?.finished() }
    if failure == .noPrompt { Self.warn(.noPrompt) }
    if let failure { throw failure }
  }
}

extension BSAService {
  /// The prompt, unless it is a terminal that another process uses.
  private var promptThatCanAsk: (any BSA.LocalAuth.Prompt)? {
    (prompt as? TerminalPresenter)?.canAsk == false ? nil : prompt
  }

  /// The function that prints warnings for the program's developer.
  static let warnings = Mutex<@Sendable (_ line: String) -> Void>(printToStandardError)

  private static func warn(_ failure: BSA.LocalAuthHelper.Failure) {
    warnings.withLock { $0 }("BSA.LocalAuth.startSimpleAuth: \(failure.message)\n")
  }

  private static let printToStandardError: @Sendable (String) -> Void = { line in
    let bytes = Array(line.utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }
}

// MARK: - Conversions from the daemon's types

extension BSA.LocalAuth.Question {
  /// Creates the question to the person for the step of a flow; nil if the step asks for nothing.
  ///
  /// - Throws: ``KitError`` if the step does not belong to a local authentication.
  init?(_ flow: Flow, _ fault: AnswerFault?) throws {
    switch flow.step {
    case .localAuth(let step):
      reason = step.reason
      isScanning = step.scanning
      takesFinger = step.methods.contains(.biometric)
      takesPasscode = step.methods.contains(.passcode)
      problem =
        switch fault {
        case .refused(let error): error.message
        case .lost: "the connection to usherd was lost, and with it the answer"
        case .withoutEffect(let problem): problem?.message ?? "the answer had no effect"
        case .tooLate, nil: flow.problem?.message
        }
    case .wait, nil: return nil
    case .openURL, .displayCode, .enterCode, .enterPassword, .choose, .fillForm, .consent,
      .exchangeCredential:
      throw KitError(.unexpected, "usherd asks for a step other than local authentication")
    }
  }
}

extension BSA.LocalAuthHelper.Failure {
  /// The failure of an authentication that only a prompt can continue. The SDK has no code for it,
  /// because iOS has a prompt of its own; `AUTH_FAILED` is the nearest.
  fileprivate static let noPrompt = Self(
    errorCode: .AUTH_FAILED,
    message: "the passcode cannot be asked for: pass a prompt to BSA.configure(prompt:)")

  /// Creates the failure of an authentication that cannot go on without a prompt: the passcode is
  /// needed, or nobody has touched the fingerprint reader in time.
  fileprivate init(withoutPrompt question: BSA.LocalAuth.Question) {
    guard !question.takesPasscode, let problem = question.problem else {
      self = .noPrompt
      return
    }
    self.init(errorCode: .AUTH_FAILED, message: problem)
  }

  init(_ failure: UsherAPI.Failure) {
    let code = failure.provider?.code
    let sdkCode = code == "BIOMETRIC_NOT_AVAILABLE" ? "BIOMETRIC_NOT_AVILABLE" : code
    errorCode = sdkCode.flatMap { BSA.LocalAuthHelper.ErrorCode(rawValue: $0) }
    message = failure.message
  }

  init(_ error: any Error) {
    if let failure = error as? BSA.LocalAuthHelper.Failure {
      self = failure
    } else {
      errorCode = error is CancellationError ? .USER_CANCEL : nil
      message = KitError(error).message
    }
  }
}
