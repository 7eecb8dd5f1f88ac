import Crypto
import FoundationEssentials
import UsherKit

// The Swift example of the seed "Authentication", as it stands there, with these corrections:
//
//  1. `import UsherKit` for `PaysafeWallet`, `Crypto` for `CryptoKit`; `SafariServices` is not
//     there. A presenter shows the page in place of `SFSafariViewController` and
//     `present(_:animated:)`.
//  2. `base64URLEncodedString()` is no part of Foundation or of the SDK: it stands at the end.
//  3. The placeholders are `values`, so that a test may put in what is real. The redirect URI
//     begins with `https`: the daemon lets no code travel over plain http but on the loopback (RFC
//     8252 §8.3).
//  4. The service is one constant: the seed calls it `authentication` where it is made, and
//     `authenticationService` or `Wallet.instance.authenticationService` where it is used.
//  5. Swift wants a statement where the seed has a comment in a `case`: what came is `told`.
//  6. Steps 3 to 7 of the log-in, and the repeated wallet operation, are words in the seed and code
//     of the partner: `comeBack(_:)` has what of them is the SDK's.

/// An app that used Paysafe's SDK.
final class PaysafeSeedExample: Sendable {
  /// What the seed leaves open.
  struct Values: Sendable {
    var brandIdentity = "brand-identity"
    var clientIdentifier = "client-identifier"
    var state = "random-string"
    var codeVerifier = "random-alphanumeric-string-64-characters"
    var redirectURI = "https://www.partner.com/wallet/dashboard"
    var eventID = "..."
    var walletOperationID = "..."
    /// The partner's backend: from a code to an access token.
    var redeem: @Sendable (Wallet.AuthenticationCode) async throws -> String = { _ in "" }
  }

  /// What a completion brought.
  enum News: Sendable, Equatable {
    case presented(URL)
    case authenticated(Wallet.Account)
    case challenged(Wallet.SCAAuthenticationEventChallengeEmbeddedHybridResponse)
    case attempted(Wallet.SCAAuthenticationEventAttemptEmbeddedHybridResponse)
    case failed(WalletError)
    case notRedeemed
  }

  /// Each completion's outcome, in the order in which they came.
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

  /// Step 4 to 7: the browser came back to the redirect URI.
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
  /// RFC 4648 §5, without padding.
  fileprivate func base64URLEncodedString() -> String {
    base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
