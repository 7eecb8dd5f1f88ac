import UsherKit

// The Swift lines of the vendor's pages "verifying non Truecaller app users" and "completing the
// verification", with these corrections:
//
//  1. `import UsherKit` replaces `TrueSDK`.
//  2. The page's view controller is a class of its own, which is both delegate and viewDelegate.
//     Instead of showing a screen, it yields to `news`, so that a test can enter the code.
//  3. The page assigns the two delegates on one line; Swift needs two statements.
//  4. The placeholders `<#…>` are parameters.
//  5. The page ignores the results of `tokenTtl()` and `accessTokenForOTPVerification()`; here they
//     are yielded to `news`. Both are optional.
//  6. The page gives the delegate methods without a body; here each yields what it received.
//  7. The SDK's delegate is an object of the main thread. Here the delegate is `Sendable`; one of
//     `@MainActor` would be called on the main actor.
//  8. The Objective-C line beside each Swift line is left out, as are the Objective-C names of the
//     states, such as `TCVerificationStateOTPInitiated`: Linux has no Objective-C. The lines have
//     the same meaning; `didReceiveTrueProfile:` is `didReceive(_:)`.
//
// The page Truecaller of the daemon's documentation lists the differences to the SDK under
// "Differences"; `Tests/SeedStatements/truecaller.tsv` has them by statement.

/// An app written for Truecaller's SDK.
final class TruecallerSeedExample: TCTrueSDKDelegate, TCTrueSDKViewDelegate {
  /// A delegate call.
  enum News: Sendable, Equatable {
    /// The app should ask for code and name; the code is valid for `tokenTtl` seconds.
    case codeSent(tokenTtl: Int?)
    case codeAccepted
    /// `verificationComplete` or `verifiedBefore`, with the access token for the partner's server.
    case verified(TCVerificationState, accessToken: String?)
    case received(TCTrueProfile)
    case failed(TCTrueSDKErrorCode, message: String)
  }

  /// All delegate calls, in order.
  let news: AsyncStream<News>
  private let told: AsyncStream<News>.Continuation

  init() { (news, told) = AsyncStream.makeStream() }
}

// MARK: - Verifying non Truecaller app users

extension TruecallerSeedExample {
  /// On the Mobile number entry screen set the below delegates
  func showNumberEntry() {
    // Code of truecaller-otp 18, db3395d42c891cb6
    TCTrueSDK.sharedManager().delegate = self
    TCTrueSDK.sharedManager().viewDelegate = self
    // End of code
  }

  /// Initiate the verification for the user
  func requestVerification(_ phoneNumber: String, _ countryCode: String) {
    // Code of truecaller-otp 24, d341c834d7eda18a
    TCTrueSDK.sharedManager().requestVerification(
      forPhone: phoneNumber,  // <#PHONE_NUMBER_STRING>
      countryCode: countryCode)  // <#DEFAULT_COUNTRY_CODE>
    // End of code
  }

  func verificationStatusChanged(to verificationState: TCVerificationState) {
    switch verificationState {
    case TCVerificationState.otpInitiated:
      told.yield(.codeSent(tokenTtl: TCTrueSDK.sharedManager().tokenTtl()))
    case TCVerificationState.otpReceived:
      told.yield(.codeAccepted)
    case TCVerificationState.verificationComplete, TCVerificationState.verifiedBefore:
      let accessToken =
        // Code of truecaller-otp 51, b84a178bb044bb28
        TCTrueSDK.sharedManager().accessTokenForOTPVerification()
      // End of code
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
    // Code of truecaller-otp 2, 7eee903229587264
    TCTrueSDK.sharedManager().verifySecurityCode(
      otp,  // <#OTP>
      andUpdateFirstname: firstName,  // <#FIRST_NAME>
      lastName: lastName)  // <#LAST_NAME>
    // End of code
  }

  func didReceive(_ profile: TCTrueProfile) {
    told.yield(.received(profile))
  }
}
