import UsherAPI
import UsherCore

// "Local Authentication" of the seed.

extension BSA {
  /// Whether the person at this machine is the one whose user runs the program: by a finger at the
  /// reader, or by usherd's passcode (the daemon's page LocalAuth).
  public enum LocalAuth {
    /// Asks the person at this machine in the place of iOS. The app draws it.
    public protocol Prompt: AnyObject, Sendable {
      /// Shows a question in the place of the one before, and waits for what the person does.
      ///
      /// The task is cancelled when the question is over without the person's doing, as when a finger
      /// was recognised; what is returned then is ignored. A question whose answer did not lead on
      /// comes again, with the problem.
      func answer(_ question: Question) async -> Answer

      /// Takes the last question away, where there was one. The outcome is told when it returns.
      func finished() async
    }

    /// What the person is asked.
    public struct Question: Sendable, Equatable {
      /// The app's, as it was given to `startSimpleAuth`.
      public let reason: String
      /// Whether the reader waits for a finger: then answer ``Answer/stay``, unless the person wants
      /// something else.
      public let isScanning: Bool
      /// Whether a finger will do: where the reader does not wait, ``Answer/scan`` makes it.
      public let takesFinger: Bool
      /// Whether ``Answer/passcode(_:)`` will do.
      public let takesPasscode: Bool
      /// What the reader says, or why the answer before did not lead on; a sentence for the person.
      public let problem: String?
    }

    /// What the person does. It prints without the passcode.
    public struct Answer: Sendable, Equatable {
      enum Act: Sendable, Equatable {
        case stay
        case submit(FlowInput)
      }

      let act: Act

      /// Nothing: the question stands until it is over.
      public static let stay = Answer(act: .stay)
      /// The reader is to wait for a finger, once more.
      public static let scan = Answer(act: .submit(.biometric))
      /// Another way than the finger: the passcode with `usePasscodeWhenFailed`, else
      /// `USER_FALLBACK`.
      public static let fallback = Answer(act: .submit(.fallback))
      /// `USER_CANCEL`.
      public static let cancel = Answer(act: .submit(.cancelLocalAuth))

      public static func passcode(_ passcode: String) -> Answer {
        Answer(act: .submit(.passcode(Secret(passcode))))
      }
    }
  }
}

extension BSA.LocalAuth.Prompt {
  /// Optional.
  public func finished() async {}
}

extension BSA.LocalAuthHelper {
  /// Why the person at this machine was not authenticated.
  public struct Failure: Error, Sendable, Equatable {
    /// The SDK's word; nil where it has none: the daemon is away, the time was over, nobody can be
    /// asked.
    public let errorCode: ErrorCode?
    /// A sentence for people.
    public let message: String
  }
}

// MARK: - The calls

extension BSA.LocalAuth {
  /// Has the person at this machine prove to be there.
  ///
  /// Exactly one of the callbacks is called, once, by a task of its own: in the background, as the
  /// seed says. For a sign-up nothing is stored yet: `checkDomainStateChanged` is false.
  ///
  /// - Parameters:
  ///   - localAuthType: Not `NONE`, which authenticates nobody.
  ///   - reason: Shown to the person.
  ///   - checkDomainStateChanged: Whether it fails where other fingers are enrolled than at the last
  ///     success with one.
  ///   - usePasscodeWhenFailed: Whether the passcode will do where a finger will not.
  ///   - onSuccess: The person is there.
  ///   - onError: With the SDK's word; nil where it has none.
  ///   - disposeBag: Our own: cancels the call, and what the person is asked. Without it the call goes
  ///     on to its end.
  public static func startSimpleAuth(
    localAuthType: BSA.Enums.LocalAuthType, reason: String, checkDomainStateChanged: Bool,
    usePasscodeWhenFailed: Bool, onSuccess: @escaping @Sendable () -> Void,
    onError: @escaping @Sendable (_ errorCode: BSA.LocalAuthHelper.ErrorCode?) -> Void,
    disposeBag: DisposeBag? = nil
  ) {
    let request = LocalAuthRequest(
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

  /// Has the person at this machine prove to be there, and waits for it.
  ///
  /// The parameters are those of the form with callbacks. When the task is cancelled, so is what the
  /// person is asked: `USER_CANCEL`.
  public static func startSimpleAuth(
    localAuthType: BSA.Enums.LocalAuthType, reason: String, checkDomainStateChanged: Bool,
    usePasscodeWhenFailed: Bool
  ) async throws(BSA.LocalAuthHelper.Failure) {
    try await BSA.service.authenticate(
      LocalAuthRequest(
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
