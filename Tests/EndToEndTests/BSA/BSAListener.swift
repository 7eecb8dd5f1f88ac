import Synchronization
import Testing
import UsherKit
import UsherTestKit

/// What is configured is one for the whole process: these tests take turns.
@Suite("BSA by UsherKit, end to end", .uses(.bsa), .mayBlock, .serialized, .timeLimit(.minutes(10)))
enum BSAKitEndToEndTests {}

/// A person who is asked for a passcode.
final class BSAPrompt: BSA.LocalAuth.Prompt {
  private let asked = Mutex<[BSA.LocalAuth.Question]>([])
  private let answers: @Sendable (BSA.LocalAuth.Question) -> BSA.LocalAuth.Answer

  init(_ answers: @escaping @Sendable (BSA.LocalAuth.Question) -> BSA.LocalAuth.Answer) {
    self.answers = answers
  }

  /// Who knows the passcode.
  convenience init() { self.init { _ in .passcode(BSAScene.passcode) } }

  /// In their order.
  var questions: [BSA.LocalAuth.Question] { asked.withLock { $0 } }

  func answer(_ question: BSA.LocalAuth.Question) async -> BSA.LocalAuth.Answer {
    asked.withLock { $0.append(question) }
    return answers(question)
  }
}

/// Hears the callbacks of one call.
final class BSAListener: Sendable {
  enum News: Sendable, Equatable {
    /// The success, or a negative answer: by its callback's name.
    case answer(String)
    case failed(Int)
    case error(BSAError)
    case completed
  }

  private let news: AsyncStream<News>
  private let feed: AsyncStream<News>.Continuation
  private let written = Mutex<[String]>([])
  private let token = Mutex<String?>(nil)
  let bag = DisposeBag()

  init() { (news, feed) = AsyncStream.makeStream() }

  /// Each line of `onTotalLog`.
  var log: [String] { written.withLock { $0 } }

  /// What `onValidOTPNumber` brought.
  var disposeToken: String? { token.withLock { $0 } }

  /// What was told, up to `onCompleted`.
  func all() async -> [News] {
    var all: [News] = []
    for await one in news {
      all.append(one)
      if one == .completed { break }
    }
    return all
  }

  private func answer(_ word: String) -> @Sendable () -> Void {
    { [feed] in _ = feed.yield(.answer(word)) }
  }

  private var failed: BSA.OnFailed {
    { [feed] rtCode, message in
      if message.isEmpty { Issue.record("\(rtCode) says nothing") }
      feed.yield(.failed(rtCode))
    }
  }

  private var error: BSA.OnError {
    { [feed] error in
      if let error = error as? BSAError {
        feed.yield(.error(error))
      } else {
        Issue.record("\(error)")
      }
    }
  }

  private var totalLog: BSA.OnTotalLog {
    { line in self.written.withLock { $0.append(line) } }
  }

  private var completed: BSA.OnCompleted { { [feed] in _ = feed.yield(.completed) } }
}

// MARK: - The SDK's calls

extension BSAListener {
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
    _ person: BSAPerson = .alice, _ type: BSA.APICaller.OTPSendType = .Email,
    clientKey: String = BSAScene.clientKey
  ) {
    BSA.APICaller.requestSendOTPNumber(
      sendType: type, sendTarget: person.contact(type.rawValue), clientKey: clientKey,
      bundleIdentifier: BSAScene.appPackage, onSuccess: answer("onSuccess"), onFailed: failed,
      onError: error, onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }

  func verifyNumber(
    _ number: String, _ person: BSAPerson = .alice,
    _ type: BSA.APICaller.OTPSendType = .Email
  ) {
    BSA.APICaller.verifyOTPNumber(
      sendType: type, sendTarget: person.contact(type.rawValue), otpNumber: number,
      clientKey: BSAScene.clientKey,
      onValidOTPNumber: { [answer = answer("onValidOTPNumber")] token in
        self.token.withLock { $0 = token }
        answer()
      }, onInvalidOTPNumber: answer("onInvalidOTPNumber"), onFailed: failed, onError: error,
      onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }

  func signUp(_ data: BSA.SignUpData.UserData) {
    BSA.APICaller.requestSignUp(
      userData: data, onSuccess: answer("onSuccess"), onFailed: failed, onError: error,
      onTotalLog: totalLog, onCompleted: completed, disposeBag: bag)
  }
}

extension BSAPerson {
  func userData(
    _ disposeToken: String, _ authType: BSA.Enums.LocalAuthType = .PASSCODE
  ) -> BSA.SignUpData.UserData {
    BSA.SignUpData.UserData(
      appPackage: BSAScene.appPackage, clientKey: BSAScene.clientKey, appVersion: "1.1.1",
      token: "fcm-1", email: email, phoneNumber: phoneNumber, userKey: userKey, name: name,
      authType: authType, disposeToken: disposeToken, agreeGccs: true, agreePerson: true,
      agreeDevice: true)
  }
}

/// What a call tells a program, from its beginning to `onCompleted`.
func heard(_ call: (BSAListener) -> Void) async -> [BSAListener.News] {
  let listener = BSAListener()
  call(listener)
  return await listener.all()
}
