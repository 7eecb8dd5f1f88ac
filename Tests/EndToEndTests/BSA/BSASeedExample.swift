import Dispatch
import Synchronization
import UsherKit

// The calls of the vendor's page "User Registration" as it writes them, with these corrections:
//
//  1. `import UsherKit` replaces RxSwift, because UsherKit has its own `BSA.DisposeBag`, to which
//     the page's `DisposeBag` is an alias here. `import Dispatch` is for the main queue.
//  2. The page's `self` is a class of its own. It is `Sendable`, because callbacks run on any
//     thread; so is `data`, whose two members are behind a lock.
//  3. The page passes types to `verifyOTPNumber` instead of values; here it gets `.Email` and the
//     address.
//  4. In `switch errorCode` the page lists three cases with one body, two of them without a colon.
//     Here they are one case with commas.
//  5. The page's callbacks and cases are empty. Swift refuses an empty case and warns of an unused
//     `self` or parameter, so each callback and case yields to `news`.
//  6. Closures that the page writes without `[weak self]` have it if they yield to `news`;
//     `onSuccess` and `onError` of `startSimpleAuth` name what they need in a capture list, for the
//     main queue.
//  7. The client key, the addresses and the OTP are `values` or parameters, so that a test can pass
//     real ones. `data.userData` is filled before its use.
//  8. "BSA.APICAller" and "requestOTPNumberSend" in the page's text are `BSA.APICaller` and
//     `requestSendOTPNumber`; `onNotDulplicateUser` and `onDulplicateUser` are spelt as in the
//     page's code, not as in its table. UsherKit accepts both spellings of these labels.
//  9. `@escaping OnTotalLog? = nil`, in the page's tables, is not Swift: an optional closure always
//     escapes.
// 10. "Information saved after SignUp" names functions without parentheses. `loadTOTPSecretKey`
//     does not compile, with a message that says why: the secret stays sealed in the daemon, and
//     `totpCode()` returns codes of it.
//
// What happens differently than on a phone is told on the page BSA of the daemon's documentation,
// under Differences.

/// RxSwift's name, as the page uses it.
private typealias DisposeBag = BSA.DisposeBag

/// An app written for BSA's SDK.
final class BSASeedExample: Sendable {
  /// Values that the page leaves open.
  struct Values: Sendable {
    var email = "user@email.com"
    var phoneNumber = "+821012345678"
    var clientKey = "a1hrg2xv..."
    var bundleIdentifier = "com.your.app"
    var userKey = "user1"
    var localAuthType = BSA.Enums.LocalAuthType.BIOMETRIC
  }

  /// The name of a callback that ran, and its result.
  struct News: Sendable, Equatable {
    var call: String
    var detail: String?

    init(_ call: String, _ detail: String? = nil) {
      self.call = call
      self.detail = detail
    }
  }

  /// Results of one call that a later call needs.
  final class Data: Sendable {
    private let members = Mutex<(token: String?, user: BSA.SignUpData.UserData?)>((nil, nil))

    var disposeToken: String? {
      get { members.withLock { $0.token } }
      set { members.withLock { $0.token = newValue } }
    }

    var userData: BSA.SignUpData.UserData? {
      get { members.withLock { $0.user } }
      set { members.withLock { $0.user = newValue } }
    }
  }

  /// All callbacks except `onTotalLog`, in the order in which they ran.
  let news: AsyncStream<News>
  private let told: AsyncStream<News>.Continuation
  private let logged = Mutex<[String]>([])
  private let values: Values
  private let data = Data()
  private let disposeBag = DisposeBag()

  init(_ values: Values = Values()) {
    self.values = values
    (news, told) = AsyncStream.makeStream()
  }

  /// The texts that `onTotalLog` received.
  var log: [String] { logged.withLock { $0 } }

  private func tell(_ call: String, _ detail: String? = nil) { told.yield(News(call, detail)) }

  private func write(_ text: String) { logged.withLock { $0.append(text) } }
}

// MARK: - Duplicated Registered Information

extension BSASeedExample {
  func checkDuplicateUserData() {
    BSA.APICaller.checkDuplicateUserData(
      verifyData: values.email,
      verifyType: .Email,
      onNotDulplicateUser: { [weak self] in

        // When Not Duplicate
        self?.tell("onNotDulplicateUser")

      },
      onDulplicateUser: { [weak self] in

        // When Duplicate
        self?.tell("onDulplicateUser")

      },
      onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure
        self?.tell("onFailed", "\(rtCode) \(resultMessage)")

      },
      onError: { [weak self] error in

        // Invocation Error
        self?.tell("onError", "\(error)")

      },
      onTotalLog: { [weak self] text in

        // Invocation Log
        self?.write(text)

      },
      onCompleted: { [weak self] in

        // invocation completed
        self?.tell("onCompleted")

      }, disposeBag: disposeBag)
  }
}

// MARK: - OTP Number Request

extension BSASeedExample {
  func requestSendOTPNumber() {
    BSA.APICaller.requestSendOTPNumber(
      sendType: .Email,
      sendTarget: values.email,
      clientKey: values.clientKey,
      bundleIdentifier: values.bundleIdentifier,
      onSuccess: { [weak self] in

        // Successful Request for OTP Number Transmission
        self?.tell("onSuccess")

      },
      onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure
        self?.tell("onFailed", "\(rtCode) \(resultMessage)")

      },
      onError: { [weak self] error in

        // Invocation Error
        self?.tell("onError", "\(error)")

      },
      onTotalLog: { [weak self] text in

        // Invocation Log
        self?.write(text)

      },
      onCompleted: { [weak self] in

        // invocation completed
        self?.tell("onCompleted")

      }, disposeBag: disposeBag)
  }
}

// MARK: - OTP Number Validation

extension BSASeedExample {
  func verifyOTPNumber(_ otpNumber: String = "298336") {
    BSA.APICaller.verifyOTPNumber(
      sendType: .Email,
      sendTarget: values.email,
      otpNumber: otpNumber,
      clientKey: values.clientKey,
      onValidOTPNumber: { [weak self] disposeToken in

        // OTP Number Matches

        // Token Storage
        self?.data.disposeToken = disposeToken
        self?.tell("onValidOTPNumber")

      },
      onInvalidOTPNumber: { [weak self] in

        // OTP Number Doesn't Match
        self?.tell("onInvalidOTPNumber")

      },
      onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure
        self?.tell("onFailed", "\(rtCode) \(resultMessage)")

      },
      onError: { [weak self] error in

        // Invocation Error
        self?.tell("onError", "\(error)")

      },
      onTotalLog: { [weak self] text in

        // Invocation Log
        self?.write(text)

      },
      onCompleted: { [weak self] in

        // invocation completed
        self?.tell("onCompleted")

      }, disposeBag: disposeBag)
  }
}

// MARK: - Check Available ID

extension BSASeedExample {
  func checkUserKeyAvailable() {
    BSA.APICaller.checkUserKeyAvailable(
      userKey: values.userKey,
      onUserKeyAvailable: { [weak self] in

        // User Key Is Usable
        self?.tell("onUserKeyAvailable")

      },
      onUserKeyNotAvailable: { [weak self] in
        // User Key Is Not Usable
        self?.tell("onUserKeyNotAvailable")

      },
      onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure
        self?.tell("onFailed", "\(rtCode) \(resultMessage)")

      },
      onError: { [weak self] error in

        // Invocation Error
        self?.tell("onError", "\(error)")

      },
      onTotalLog: { [weak self] text in

        // Invocation Log
        self?.write(text)

      },
      onCompleted: { [weak self] in

        // invocation completed
        self?.tell("onCompleted")

      }, disposeBag: disposeBag)
  }
}

// MARK: - Local Authentication

extension BSASeedExample {
  func startSimpleAuth() {
    BSA.LocalAuth.startSimpleAuth(
      localAuthType: values.localAuthType,
      reason: "Authentication is required to verify your identity",
      checkDomainStateChanged: false,
      usePasscodeWhenFailed: false,
      onSuccess: { [told] in

        // onSuccess operates on a background thread, so UI-related tasks should be performed on the
        // main thread.
        DispatchQueue.main.async {

          // Local Authentication Successful
          told.yield(News("onSuccess"))

        }

      },
      onError: { [told] errorCode in

        // onError operates on a background thread, so UI-related tasks should be performed on the
        // main thread.
        DispatchQueue.main.async {

          // Local Authentication Failed

          switch errorCode {
          case .DOMAIN_STATE_CHANGED:
            // Biometric authentication info has been changed
            told.yield(News("onError", "changed"))
          case .BIOMETRIC_NOT_AVILABLE, .BIOMETRIC_NOT_SUPPORT_HARDWARE, .BIOMETRIC_LOCK_OUT:
            // Biometric authentication not available
            told.yield(News("onError", "not available"))
          case .BIOMETRIC_NOT_ENROLLED_DEVICE:
            // Biometric authentication info is not on device
            told.yield(News("onError", "no finger"))
          case .PASSCODE_NOT_ENROLLED_DEVICE:
            // Passcode not on device
            told.yield(News("onError", "no passcode"))
          case .USER_CANCEL, .USER_FALLBACK:
            // User cancels authentication
            told.yield(News("onError", "user"))
          case .AUTH_FAILED:
            // Authentication failed
            told.yield(News("onError", "failed"))
          default:
            // Other errors
            told.yield(News("onError", "other"))
          }

        }

      })
  }
}

// MARK: - Sign Up

extension BSASeedExample {
  /// "userData must be filled with complete data when making the call."
  func fillUserData() {
    data.userData = BSA.SignUpData.UserData(
      appPackage: values.bundleIdentifier, clientKey: values.clientKey, appVersion: "1.1.1",
      token: "fcm-token", email: values.email, phoneNumber: values.phoneNumber,
      userKey: values.userKey, name: "Asha Rao", authType: values.localAuthType, os: .iOS,
      disposeToken: data.disposeToken ?? "", agreeGccs: true, agreePerson: true,
      agreeDevice: true)
  }

  func requestSignUp() {
    BSA.APICaller.requestSignUp(
      userData: data.userData!,
      onSuccess: { [weak self] in
        // Success SignUp
        self?.tell("onSuccess")

      },
      onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure
        self?.tell("onFailed", "\(rtCode) \(resultMessage)")

      },
      onError: { [weak self] error in

        // Invocation Error
        self?.tell("onError", "\(error)")

      },
      onTotalLog: { [weak self] text in

        // Invocation Log
        self?.write(text)

      },
      onCompleted: { [weak self] in

        // invocation completed
        self?.tell("onCompleted")

      }, disposeBag: disposeBag)
  }

  /// Information saved after SignUp
  var saved: [String?] {
    [
      BSA.loadDeviceID(), BSA.loadFCMToken(), BSA.loadUserKey(),
      BSA.loadLocalAuthType()?.rawValue,
    ]
  }
}
