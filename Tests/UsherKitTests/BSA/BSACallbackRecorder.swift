import Synchronization
import Testing

@testable import UsherKit

/// Records the callbacks of one BSA call.
final class BSACallbackRecorder: Sendable {
  enum Event: Sendable, Equatable {
    /// The callback for a success or for a negative answer, by its name.
    case answer(String)
    case failed(Int, String)
    case error(BSAError)
    case completed
  }

  private let events: AsyncStream<Event>
  private let feed: AsyncStream<Event>.Continuation
  private let lines = Mutex<[String]>([])
  let bag = BSA.DisposeBag()

  init() { (events, feed) = AsyncStream.makeStream() }

  /// The lines of the log, with the time that each begins with.
  var timedLog: [String] { lines.withLock { $0 } }

  /// The log without the times of its lines.
  var log: String {
    timedLog.map { $0.split(separator: " ", maxSplits: 1).last.map { String($0) } ?? "" }
      .joined(separator: "\n")
  }

  /// Returns the callbacks up to `onCompleted`, or up to the call of ``stopRecording()``.
  func all() async -> [Event] {
    var all: [Event] = []
    for await one in events {
      all.append(one)
      if one == .completed { break }
    }
    return all
  }

  func stopRecording() { feed.finish() }

  func answer(_ word: String) -> @Sendable () -> Void {
    { [feed] in _ = feed.yield(.answer(word)) }
  }

  var failed: BSA.OnFailed { { [feed] in _ = feed.yield(.failed($0, $1)) } }

  var error: BSA.OnError {
    { [feed] error in
      if let error = error as? BSAError {
        feed.yield(.error(error))
      } else {
        Issue.record("\(error) is not an error of the SDK")
      }
    }
  }

  var totalLog: BSA.OnTotalLog { { line in self.lines.withLock { $0.append(line) } } }

  var completed: BSA.OnCompleted { { [feed] in _ = feed.yield(.completed) } }
}

// MARK: - The SDK's calls

extension BSACallbackRecorder {
  func checkDuplicate(_ data: String, _ type: BSA.Enums.VerifyType = .Email) {
    BSA.APICaller.checkDuplicateUserData(
      verifyData: data, verifyType: type, onNotDulplicateUser: answer("onNotDulplicateUser"),
      onDulplicateUser: answer("onDulplicateUser"), onFailed: failed, onError: error,
      onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }

  func checkUserKey(_ userKey: String) {
    BSA.APICaller.checkUserKeyAvailable(
      userKey: userKey, onUserKeyAvailable: answer("onUserKeyAvailable"),
      onUserKeyNotAvailable: answer("onUserKeyNotAvailable"), onFailed: failed, onError: error,
      onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }

  func requestNumber(
    _ target: String = "user@email.com", _ type: BSA.APICaller.OTPSendType = .Email,
    clientKey: String = "a1hrg2xv"
  ) {
    BSA.APICaller.requestSendOTPNumber(
      sendType: type, sendTarget: target, clientKey: clientKey,
      bundleIdentifier: "com.your.app", onSuccess: answer("onSuccess"), onFailed: failed,
      onError: error, onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }

  func verifyNumber(
    _ number: String = "298336", _ target: String = "user@email.com",
    _ type: BSA.APICaller.OTPSendType = .Email, clientKey: String = "a1hrg2xv"
  ) {
    BSA.APICaller.verifyOTPNumber(
      sendType: type, sendTarget: target, otpNumber: number, clientKey: clientKey,
      onValidOTPNumber: { self.answer("onValidOTPNumber \($0)")() },
      onInvalidOTPNumber: answer("onInvalidOTPNumber"), onFailed: failed, onError: error,
      onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }

  func signUp(_ data: BSA.SignUpData.UserData = .complete) {
    BSA.APICaller.requestSignUp(
      userData: data, onSuccess: answer("onSuccess"), onFailed: failed, onError: error,
      onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }
}

extension BSA.SignUpData.UserData {
  static let complete = BSA.SignUpData.UserData(
    appPackage: "com.your.app", clientKey: "a1hrg2xv", appVersion: "1.1.1", token: "fcm-1",
    email: "user@email.com", phoneNumber: "+821012345678", userKey: "user1", name: "Asha Rao",
    authType: .BIOMETRIC, disposeToken: "dsp_1", agreeGccs: true, agreePerson: true,
    agreeDevice: true)
}

/// Returns all callbacks of a call, up to `onCompleted`.
func recordedEvents(_ call: (BSACallbackRecorder) -> Void) async -> [BSACallbackRecorder.Event] {
  let recorder = BSACallbackRecorder()
  call(recorder)
  return await recorder.all()
}

/// Expects that `events` equals `expected`. Replaces `#expect(events == expected)` if a closure
/// produces `events`: Swift 6.3 may confuse a closure in a macro's argument with another closure of
/// the function.
func check(
  _ events: [BSACallbackRecorder.Event], is expected: [BSACallbackRecorder.Event],
  sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(events == expected, sourceLocation: sourceLocation)
}
