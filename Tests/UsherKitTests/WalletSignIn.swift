import FoundationEssentials
import UsherKit

struct WalletSignIn {
  let service = Wallet.instance.authenticationService
  let presenter: any Presenter

  /// Shows the page with which a customer signs in.
  func begin(state: String, codeChallenge: String) async throws {
    let details = try await service.getAuthenticationDetails(
      brandIdentity: "acme",
      request: Wallet.AuthenticationDetailsRequest(
        clientIdentifier: "acme-wallet", codeChallenge: codeChallenge, state: state,
        redirectURI: "https://partner.example/wallet/callback"))
    presenter.present(details.authenticationURL)
  }

  /// The browser came back. The partner's backend redeems the code with its code verifier.
  func comeBack(_ url: URL, redeem: (String) async throws -> String) async throws {
    let code = try await service.handleRedirect(url: url)
    let account = try await Wallet.authenticate(accessToken: try await redeem(code.code))
    print("signed in:", account.id)
  }
}
