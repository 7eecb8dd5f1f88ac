import FoundationEssentials
import UsherKit

struct WalletSignIn {
  let service = Wallet.instance.authenticationService
  let presenter: any Presenter

  /// Shows Paysafe's sign-in page to the customer.
  func begin(state: String, codeChallenge: String) async throws {
    let details = try await service.getAuthenticationDetails(
      brandIdentity: "acme",
      request: Wallet.AuthenticationDetailsRequest(
        clientIdentifier: "acme-wallet", codeChallenge: codeChallenge, state: state,
        redirectURI: "https://partner.example/wallet/callback"))
    presenter.present(details.authenticationURL)
  }

  /// Signs the customer in with the redirect URL that the browser returned to.
  ///
  /// - Parameter redeem: The call of the partner's backend that redeems the code with its code
  ///   verifier, and returns the access token.
  func comeBack(_ url: URL, redeem: (String) async throws -> String) async throws {
    let code = try await service.handleRedirect(url: url)
    let account = try await Wallet.authenticate(
      accessToken: try await redeem(code.code), requestID: code.requestID)
    print("signed in:", account.id)
  }
}
