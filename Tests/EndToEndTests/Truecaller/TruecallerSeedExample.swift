import UsherKit

// The Swift lines of the seed "verifying non Truecaller app users" and "completing the
// verification", as they stand there, with these corrections:
//
//  1. `import UsherKit` for `TrueSDK`.
//  2. The seed's view controller is a class of its own: a presenter, which is the delegate and the
//     viewDelegate. It shows nothing but tells its `news`, so that somebody may enter the code.
//  3. Swift wants the two assignments of the delegates, which the seed writes on one line, as two
//     statements.
//  4. The placeholders `<#…>` are parameters.
//  5. `tokenTtl()` and `accessTokenForOTPVerification()` stand alone in the seed: what they return
//     goes into the `news`. Both are optional.
//  6. The seed gives the delegate methods without a body: each tells what came.
//  7. The SDK's delegate is an object of the main thread; here it is called by a task of the SDK's
//     own and so is `Sendable`.
//  8. The Objective-C line that stands beside each Swift one is left out, and so are its names of the
//     states, such as `TCVerificationStateOTPInitiated`: Linux has no Objective-C. The lines say
//     the same; `didReceiveTrueProfile:` is `didReceive(_:)`.

/// An app that used Truecaller's SDK.
final class TruecallerSeedExample: TCTrueSDKDelegate, TCTrueSDKViewDelegate {
  /// What a delegate method brought.
  enum News: Sendable, Equatable {
    /// Ask for the code and the name; it is good for so many seconds.
    case codeSent(tokenTtl: Int?)
    case codeHandedIn
    /// `verificationComplete` or `verifiedBefore`: the token is for the partner's server.
    case verified(TCVerificationState, accessToken: String?)
    case received(TCTrueProfile)
    case failed(TCTrueSDKErrorCode, message: String)
  }

  /// Each delegate call, in the order in which they came.
  let news: AsyncStream<News>
  private let told: AsyncStream<News>.Continuation

  init() { (news, told) = AsyncStream.makeStream() }
}

// MARK: - Verifying non Truecaller app users

extension TruecallerSeedExample {
  /// On the Mobile number entry screen set the below delegates
  func showNumberEntry() {
    TCTrueSDK.sharedManager().delegate = self
    TCTrueSDK.sharedManager().viewDelegate = self
  }

  /// Initiate the verification for the user
  func requestVerification(_ phoneNumber: String, _ countryCode: String) {
    TCTrueSDK.sharedManager().requestVerification(forPhone: phoneNumber, countryCode: countryCode)
  }

  func verificationStatusChanged(to verificationState: TCVerificationState) {
    switch verificationState {
    case TCVerificationState.otpInitiated:
      told.yield(.codeSent(tokenTtl: TCTrueSDK.sharedManager().tokenTtl()))
    case TCVerificationState.otpReceived:
      told.yield(.codeHandedIn)
    case TCVerificationState.verificationComplete, TCVerificationState.verifiedBefore:
      let accessToken = TCTrueSDK.sharedManager().accessTokenForOTPVerification()
      told.yield(.verified(verificationState, accessToken: accessToken))
    }
  }

  func didFailToReceiveTrueProfileWithError(_ error: TCError) {
    told.yield(.failed(error.getErrorCode(), message: error.message))
  }
}

// MARK: - Completing the verification

extension TruecallerSeedExample {
  func verify(_ otp: String, _ firstName: String, _ lastName: String) {
    TCTrueSDK.sharedManager().verifySecurityCode(
      otp, andUpdateFirstname: firstName, lastName: lastName)
  }

  func didReceive(_ profile: TCTrueProfile) {
    told.yield(.received(profile))
  }
}
