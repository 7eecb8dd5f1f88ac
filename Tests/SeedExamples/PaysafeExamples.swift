// swift-format-ignore-file
import Crypto
import Foundation
public import UsherKit
public import UsherKitUIKitShim

// The Swift code of the vendor's page "Authentication", as the page has it, line by line.
//
//  1. The imports replace `PaysafeWallet`, `CryptoKit` and `SafariServices`.
//  2. Foundation has no `base64URLEncodedString()`; the page expects the app to have it.
//  3. The page sends a challenge and submits the attempt in one piece. Here these are two functions,
//     because the customer has to receive the code in between.
//  4. A `case` that contains only a comment does not compile; each reports the outcome.

/// The app around the page's code: a view controller of UIKit.
public final class PaysafeExamples: UIViewController {
  private let report: @MainActor @Sendable (String) -> Void

  /// - Parameter report: Receives the outcomes of the two SCA calls.
  public init(report: @escaping @MainActor @Sendable (String) -> Void) {
    self.report = report
    super.init()
  }

  public func getAuthenticationDetails() {
    // Code of paysafe-authentication 61-86, 47850e6345e9f261
    let state = "random-string"
    let codeVerifier = "random-alphanumeric-string-64-characters"
    let codeChallengeHash = SHA256.hash(data: Data(codeVerifier.utf8))
    let codeChallenge = Data(codeChallengeHash).base64URLEncodedString()
    let request = Wallet.AuthenticationDetailsRequest(
      clientIdentifier: "client-identifier",
      codeChallenge: codeChallenge,
      resetCredentialsURL: "https://www.paysafe.com/reset-credentials",
      state: state,
      redirectURI: "http://www.partner.com/wallet/dashboard",
      locale: "en-US",
      loginHint: "someone@partner.com",
      loginStrategy: .pin // or .password
    )
    Wallet.instance.authenticationService.getAuthenticationDetails(brandIdentity: "brand-identity",
      request: request,
      completion: { result in
        switch result {
          case .success(let response):
          let safariViewController = SFSafariViewController(url: response.authenticationURL)
          present(safariViewController, animated: true)
          case .failure(let error):
          // Handle error
          break
        }
      })
    // End of code
  }

  private lazy var authenticationService = service()

  private func service() -> Wallet.AuthenticationService {
    // Code of paysafe-authentication 15-15, 0ecb1f943e7eae1d
    let authentication = Wallet.instance.authenticationService
    // End of code
    return authentication
  }

  public func sendSCAChallenge() {
    let report = report
    // Code of paysafe-authentication 149-170, 4aee3481b2590307
    // Refused: 'case' label in a 'switch' must have at least one executable statement
    // Obtain eventId and walletOperationId from the operation that requires SCA
    let eventID = "..."
    let walletOperationID = "..."
    // 1. Instruct the system to send an one-time password (OTP) code via SMS
    authenticationService.sendSCAChallenge(
      eventID: eventID,
      request: Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest(
        walletOperationID: walletOperationID,
        verification: Wallet.SCAAuthenticationEventAttemptVerification(
          method: .otp,
          channel: .sms
        )
      ),
      completion: { result in
        switch result {
          case .success(let scaEventChallenge): /*+*/ report("sent") /*-*/
          // Display information about scaEventChallenge
          case .failure(let error): /*+*/ report("\(error)") /*-*/
          // Handle error
        }
      }
    )
    // End of code
  }

  public func submitSCAAttempt(eventID: String, walletOperationID: String) {
    let report = report
    // Code of paysafe-authentication 171-190, eb453ff6031d23f2
    // Refused: 'case' label in a 'switch' must have at least one executable statement
    // 2. Submit the one-time password entered by the customer
    authenticationService.submitSCAAttempt(
      eventID: eventID,
      request: Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest(
        walletOperationID: walletOperationID,
        verification: Wallet.SCAAuthenticationEventAttemptVerification(
          method: .otp,
          channel: .sms
        ),
        value: "123456" // Replace with actual OTP value
      ),
      completion: { result in
        switch result {
          case .success(let scaEventAttempt): /*+*/ report("\(scaEventAttempt.status)") /*-*/
          // Handle result of scaEventAttempt
          case .failure(let error): /*+*/ report("\(error)") /*-*/
          // Handle error
        }
      }
    )
    // End of code
  }
}

extension Data {
  /// Returns the data in Base64url without padding (RFC 4648 section 5).
  fileprivate func base64URLEncodedString() -> String {
    base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
