// swift-format-ignore-file
import Dispatch
public import UsherKit
public import UsherKitUIKitShim

// The Swift code of the vendor's page "User Registration", as the page has it, line by line.
//
//  1. `import UsherKit` replaces BSA_SDK and RxSwift; `DisposeBag` is UsherKit's.
//  2. `verifyOTPNumber` gets `.Email` and an address after the types that the page passes.
//  3. `switch errorCode` has the colons and statements added that Swift requires. What is added
//     reports the outcome.
//  4. "Information saved after SignUp" is a list of names and not code.

/// RxSwift's name, as the page uses it.
public typealias DisposeBag = BSA.DisposeBag

/// The app around the page's code: a view controller of UIKit.
public final class BSAExamples: UIViewController {
  /// The page's `data`.
  public final class Model {
    public var disposeToken: String?
    public var userData: BSA.SignUpData.UserData?
  }

  public let data = Model()
  public let disposeBag = DisposeBag()
  private let report: @MainActor @Sendable (String) -> Void

  /// - Parameter report: Receives the outcome of the local authentication.
  public init(report: @escaping @MainActor @Sendable (String) -> Void) {
    self.report = report
    super.init()
  }

  public func checkDuplicateUserData() {
    // Code of bsa-registration 18-47, 5812eaeffacab340
    BSA.APICaller.checkDuplicateUserData(verifyData: "user@email.com",
      verifyType: .Email,
      onNotDulplicateUser: { [weak self] in

        // When Not Duplicate


      }, onDulplicateUser: { [weak self] in

        // When Duplicate



      }, onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure

      }, onError: { [weak self] error in

        // Invocation Error

      }, onTotalLog: { text in

        // Invocation Log

      }, onCompleted: {

        // invocation completed

      }, disposeBag: disposeBag)
    // End of code
  }

  public func requestSendOTPNumber() {
    // Code of bsa-registration 79-103, 3a1531159574718a
    BSA.APICaller.requestSendOTPNumber(sendType: .Email,
      sendTarget: "user@email.com",
      clientKey: "a1hrg2xv...",
      bundleIdentifier: "com.your.app",
      onSuccess: {

        // Successful Request for OTP Number Transmission

      }, onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure

      }, onError: { [weak self] error in

        // Invocation Error

      }, onTotalLog: { text in

        // Invocation Log

      }, onCompleted: {

        // invocation completed

      }, disposeBag: disposeBag)
    // End of code
  }

  public func verifyOTPNumber() {
    // Code of bsa-registration 136-167, 62a8901541a04d75
    BSA.APICaller.verifyOTPNumber(sendType: BSA.APICaller.OTPSendType/*+*/.Email/*-*/,
      sendTarget: String/*+*/("user@email.com")/*-*/,
      otpNumber: "298336",
      clientKey: "a1hrg2xv...",
      onValidOTPNumber: { [weak self] disposeToken in

        // OTP Number Matches

        // Token Storage
        self?.data.disposeToken = disposeToken

      }, onInvalidOTPNumber: {

        // OTP Number Doesn't Match

      }, onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure

      }, onError: { [weak self] error in

        // Invocation Error

      }, onTotalLog: { text in

        // Invocation Log

      }, onCompleted: {

        // invocation completed

      }, disposeBag: disposeBag)
    // End of code
  }

  public func checkUserKeyAvailable() {
    // Code of bsa-registration 203-227, 314c0a73031fea1d
    BSA.APICaller.checkUserKeyAvailable(userKey: "user1",
      onUserKeyAvailable: {

        // User Key Is Usable

      }, onUserKeyNotAvailable: {
        // User Key Is Not Usable

      }, onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure

      }, onError: { [weak self] error in

        // Invocation Error

      }, onTotalLog: { text in

        // Invocation Log

      }, onCompleted: {

        // invocation completed

      }, disposeBag: disposeBag)
    // End of code
  }

  public func startSimpleAuth() {
    let report = report
    // Code of bsa-registration 259-300, f9eee94108bad028
    // Refused: 'case' label in a 'switch' must have at least one executable statement
    // Refused: expected ':' after 'case'
    // Refused: 'default' label in a 'switch' must have at least one executable statement
    BSA.LocalAuth.startSimpleAuth(localAuthType: .BIOMETRIC,
      reason: "Authentication is required to verify your identity",
      checkDomainStateChanged: false,
      usePasscodeWhenFailed: false,
      onSuccess: {

        // onSuccess operates on a background thread, so UI-related tasks should be performed on the main thread.
        DispatchQueue.main.async {

          // Local Authentication Successful
          /*+*/ report("success") /*-*/

        }

      }, onError: { errorCode in

        // onError operates on a background thread, so UI-related tasks should be performed on the main thread.
        DispatchQueue.main.async {

          // Local Authentication Failed

          switch errorCode {
            case .DOMAIN_STATE_CHANGED: /*+*/ report("changed") /*-*/
            // Biometric authentication info has been changed
            case .BIOMETRIC_NOT_AVILABLE /*+*/ : fallthrough /*-*/
            case .BIOMETRIC_NOT_SUPPORT_HARDWARE /*+*/ : fallthrough /*-*/
            case .BIOMETRIC_LOCK_OUT: /*+*/ report("not available") /*-*/
            // Biometric authentication not available
            case .BIOMETRIC_NOT_ENROLLED_DEVICE: /*+*/ report("no finger") /*-*/
            // Biometric authentication info is not on device
            case .PASSCODE_NOT_ENROLLED_DEVICE: /*+*/ report("no passcode") /*-*/
            // Passcode not on device
            case .USER_CANCEL, .USER_FALLBACK: /*+*/ report("user") /*-*/
            // User cancels authentication
            case .AUTH_FAILED: /*+*/ report("failed") /*-*/
            // Authentication failed
            default: /*+*/ report("other") /*-*/
            // Other errors
          }

        }

      })
    // End of code
  }

  public func requestSignUp() {
    // Code of bsa-registration 327-347, d8033f276a1dd727
    BSA.APICaller.requestSignUp(userData: data.userData!,
      onSuccess: {
        // Success SignUp

      }, onFailed: { [weak self] rtCode, resultMessage in

        // Invocation Failure

      }, onError: { [weak self] error in

        // Invocation Error

      }, onTotalLog: { text in

        // Invocation Log

      }, onCompleted: {

        // invocation completed

      }, disposeBag: disposeBag)
    // End of code
  }
}
