import Crypto
import FoundationEssentials
import UsherKit

// The Swift example of the vendor's page "Authentication", with these corrections:
//
//  1. `UsherKit` replaces `PaysafeWallet` and `Crypto` replaces `CryptoKit`. `SafariServices` does
//     not exist here: a presenter shows the page instead of `SFSafariViewController` and
//     `present(_:animated:)`.
//  2. Neither Foundation nor the SDK has `base64URLEncodedString()`: it is defined at the end.
//  3. The placeholders are `values`, so that a test can set real values.
//  4. The service is one constant. The page calls it `authentication` at its creation, and
//     `authenticationService` or `Wallet.instance.authenticationService` at its use.
//  5. Swift requires a statement where the page has only a comment in a `case`: `told` yields the
//     outcome.
//  6. The page describes steps 3 to 7 of the log-in and the repeated wallet operation in words, and
//     leaves their code to the partner: `comeBack(_:)` contains the SDK's part.

/// An app written for Paysafe's SDK.
final class PaysafeSeedExample: Sendable {
  /// The placeholders of the page's example.
  struct Values: Sendable {
    var brandIdentity = "brand-identity"
    var clientIdentifier = "client-identifier"
    var state = "random-string"
    var codeVerifier = "random-alphanumeric-string-64-characters"
    var redirectURI = "http://www.partner.com/wallet/dashboard"
    var eventID = "..."
    var walletOperationID = "..."
    /// The call of the partner's backend that redeems a code for an access token.
    var redeem: @Sendable (Wallet.AuthenticationCode) async throws -> String = { _ in "" }
  }

  /// The outcome of a completion.
  enum News: Sendable, Equatable {
    case presented(URL)
    case authenticated(Wallet.Account)
    case challenged(Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse)
    case attempted(Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse)
    case failed(WalletError)
    case notRedeemed
  }

  /// The outcomes of all completions, in order.
  let news: AsyncStream<News>
  private let told: AsyncStream<News>.Continuation
  private let presenter: any Presenter
  private let values: Values

  private let authenticationService = Wallet.instance.authenticationService

  init(_ values: Values = Values(), presenter: any Presenter) {
    self.values = values
    self.presenter = presenter
    (news, told) = AsyncStream.makeStream()
  }
}

// MARK: - Authenticate User with Authorization Code

extension PaysafeSeedExample {
  func signIn() {
    let state = values.state
    let codeVerifier = values.codeVerifier
    let codeChallengeHash = SHA256.hash(data: Data(codeVerifier.utf8))
    let codeChallenge = Data(codeChallengeHash).base64URLEncodedString()

    let request = Wallet.AuthenticationDetailsRequest(
      clientIdentifier: values.clientIdentifier,
      codeChallenge: codeChallenge,
      resetCredentialsURL: "https://www.paysafe.com/reset-credentials",
      state: state,
      redirectURI: values.redirectURI,
      locale: "en-US",
      loginHint: "someone@partner.com",
      loginStrategy: .pin  // or .password
    )

    Wallet.instance.authenticationService.getAuthenticationDetails(
      brandIdentity: values.brandIdentity,
      request: request,
      completion: { [self] result in
        switch result {
        case .success(let response):
          presenter.present(response.authenticationURL)
          told.yield(.presented(response.authenticationURL))
        case .failure(let error):
          // Handle error
          told.yield(.failed(error))
        }
      })
  }

  /// Steps 4 to 7: handles the redirect URL with which the browser returns.
  func comeBack(_ url: URL) {
    authenticationService.handleRedirect(
      url: url,
      completion: { [self] result in
        switch result {
        case .success(let code): Task { await issueToken(code) }
        case .failure(let error): told.yield(.failed(error))
        }
      })
  }

  private func issueToken(_ code: Wallet.AuthenticationCode) async {
    guard let accessToken = try? await values.redeem(code) else {
      told.yield(.notRedeemed)
      return
    }
    Wallet.authenticate(
      accessToken: accessToken,
      completion: { [self] result in
        switch result {
        case .success(let account): told.yield(.authenticated(account))
        case .failure(let error): told.yield(.failed(error))
        }
      })
  }
}

// MARK: - Handle Strong Customer Authentication (SCA) Challenges

extension PaysafeSeedExample {
  /// 1. Instruct the system to send an one-time password (OTP) code via SMS
  func sendChallenge() {
    // Obtain eventId and walletOperationId from the operation that requires SCA
    let eventID = values.eventID
    let walletOperationID = values.walletOperationID

    authenticationService.sendSCAChallenge(
      eventID: eventID,
      request: Wallet.SCAAuthenticationEventChallengeEmbeddedHybridRequest(
        walletOperationID: walletOperationID,
        verification: Wallet.SCAAuthenticationEventAttemptVerification(
          method: .otp,
          channel: .sms
        )
      ),
      completion: { [self] result in
        switch result {
        case .success(let scaEventChallenge):
          // Display information about scaEventChallenge
          told.yield(.challenged(scaEventChallenge))
        case .failure(let error):
          // Handle error
          told.yield(.failed(error))
        }
      }
    )
  }

  /// 2. Submit the one-time password entered by the customer
  func submitAttempt(
    value: String = "123456"  // Replace with actual OTP value
  ) {
    let eventID = values.eventID
    let walletOperationID = values.walletOperationID

    authenticationService.submitSCAAttempt(
      eventID: eventID,
      request: Wallet.SCAAuthenticationEventAttemptEmbeddedHybridRequest(
        walletOperationID: walletOperationID,
        verification: Wallet.SCAAuthenticationEventAttemptVerification(
          method: .otp,
          channel: .sms
        ),
        value: value
      ),
      completion: { [self] result in
        switch result {
        case .success(let scaEventAttempt):
          // Handle result of scaEventAttempt
          told.yield(.attempted(scaEventAttempt))
        case .failure(let error):
          // Handle error
          told.yield(.failed(error))
        }
      }
    )
  }
}

extension Data {
  /// Returns the data in Base64url without padding (RFC 4648 section 5).
  fileprivate func base64URLEncodedString() -> String {
    base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
