import UsherClient

// Local authentication (SDK documentation, "Local Authentication").

extension BSA {
  /// Authenticates the person at this machine as the user who runs the program, with a fingerprint
  /// or with usherd's passcode (page LocalAuth in Usher.docc).
  public enum LocalAuth {
    /// Asks the person at this machine, in place of the dialogs of iOS. The app implements it.
    public protocol Prompt: AnyObject, Sendable {
      /// Shows a question in place of the previous one, and returns the person's answer.
      ///
      /// The task is cancelled if the question ends without an answer, such as when a fingerprint
      /// was recognised; the returned answer is then ignored. If an answer is refused, the question
      /// is asked again, with the problem.
      func answer(_ question: Question) async -> Answer

      /// Removes the last question. It is called once if a question was asked, before the outcome
      /// is reported.
      func finished() async
    }

    /// A question to the person that the app's prompt shows.
    public struct Question: Sendable, Equatable {
      /// The reason that the app gave to `startSimpleAuth`.
      public let reason: String
      /// Whether the reader waits for a finger. If it does, answer ``Answer/stay``, unless the
      /// person chooses otherwise.
      public let isScanning: Bool
      /// Whether a fingerprint is accepted. If it is and no scan is running, ``Answer/scan`` starts
      /// one.
      public let takesFinger: Bool
      /// Whether a passcode is accepted: ``Answer/passcode(_:)``.
      public let takesPasscode: Bool
      /// The reader's message, or the reason why the previous answer was refused, for the person.
      public let problem: String?
    }

    /// The person's answer to a question. Its description omits the passcode.
    public struct Answer: Sendable, Equatable {
      enum Act: Sendable, Equatable {
        case stay
        case submit(FlowInput)
      }

      let act: Act

      /// No answer: the question stays until it ends by itself.
      public static let stay = Answer(act: .stay)
      /// The answer that starts the fingerprint reader.
      public static let scan = Answer(act: .submit(.biometric))
      /// Switches to the passcode if `usePasscodeWhenFailed` is set; otherwise the authentication
      /// fails with `USER_FALLBACK`.
      public static let fallback = Answer(act: .submit(.fallback))
      /// The answer that cancels the authentication, which then fails with `USER_CANCEL`.
      public static let cancel = Answer(act: .submit(.cancelLocalAuth))

      /// The answer with the passcode, which has 1 to 128 characters.
      public static func passcode(_ passcode: String) -> Answer {
        Answer(act: .submit(.passcode(Secret(passcode))))
      }
    }
  }
}

extension BSA.LocalAuth.Prompt {
  /// Does nothing. The default makes the method optional.
  public func finished() async {}
}

extension BSA.LocalAuthHelper {
  /// The error of a failed local authentication.
  public struct Failure: Error, Sendable, Equatable {
    /// The SDK's code; nil if the SDK has none for the cause: the daemon cannot be reached, or the
    /// flow has expired. `AUTH_FAILED` if a passcode is needed and there is no prompt for one.
    public let errorCode: ErrorCode?
    /// Why the authentication failed, as a message for people.
    public let message: String
  }
}

// MARK: - The calls

extension BSA.LocalAuth {
  /// Authenticates the person at this machine.
  ///
  /// Exactly one of the callbacks is called, once, by a task of its own: on a background thread, as
  /// the SDK documentation requires, also if the closures are written in an actor. Before a sign-up
  /// pass false for `checkDomainStateChanged`, because the daemon has not saved yet which fingers
  /// are enrolled.
  ///
  /// - Parameters:
  ///   - localAuthType: The method; not `NONE`, which is refused.
  ///   - reason: The reason, which is shown to the person; a general one is shown if it is blank.
  ///   - checkDomainStateChanged: Whether to fail if the enrolled fingers differ from those at the
  ///     last success with a fingerprint.
  ///   - usePasscodeWhenFailed: Whether the passcode is accepted if a fingerprint cannot be used.
  ///   - onSuccess: Called if the person is authenticated.
  ///   - onError: Called otherwise, with the SDK's code, or nil if it has none for the cause.
  ///   - disposeBag: The bag that cancels the call and the question to the person. Without one the
  ///     call runs to its end. Not in the SDK.
  public static func startSimpleAuth(
    localAuthType: BSA.Enums.LocalAuthType, reason: String, checkDomainStateChanged: Bool,
    usePasscodeWhenFailed: Bool, onSuccess: @escaping @Sendable () -> Void,
    onError: @escaping @Sendable (_ errorCode: BSA.LocalAuthHelper.ErrorCode?) -> Void,
    disposeBag: (any BSA.Disposer)? = nil
  ) {
    let request = LocalAuthOptions(
      type: localAuthType, reason: reason, checkDomainStateChanged: checkDomainStateChanged,
      usePasscodeWhenFailed: usePasscodeWhenFailed)
    let service = BSA.service
    let call = { @Sendable in
      do throws(BSA.LocalAuthHelper.Failure) {
        try await service.authenticate(request)
        if !Task.isCancelled { onSuccess() }
      } catch {
        if !Task.isCancelled { onError(error.errorCode) }
      }
    }
    if let disposeBag { disposeBag.run(call) } else { Task(operation: call) }
  }

  /// Authenticates the person at this machine, and returns after a success.
  ///
  /// The parameters are those of the overload with callbacks. Cancelling the task cancels the
  /// question to the person, and this throws `USER_CANCEL`.
  public static func startSimpleAuth(
    localAuthType: BSA.Enums.LocalAuthType, reason: String, checkDomainStateChanged: Bool,
    usePasscodeWhenFailed: Bool
  ) async throws(BSA.LocalAuthHelper.Failure) {
    try await BSA.service.authenticate(
      LocalAuthOptions(
        type: localAuthType, reason: reason, checkDomainStateChanged: checkDomainStateChanged,
        usePasscodeWhenFailed: usePasscodeWhenFailed))
  }
}

extension BSA.LocalAuth.Answer: CustomStringConvertible, CustomReflectable {
  public var description: String {
    switch act {
    case .stay: "stay"
    case .submit(.passcode): "passcode"
    case .submit(.biometric): "scan"
    case .submit(.fallback): "fallback"
    case .submit: "cancel"
    }
  }

  public var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
