import Foundation
import UsherKit

// The two examples of the vendor's page "Verify with GoPay". The code of each is the page's,
// without a change; the page leaves open what stands around it:
//
//  1. The imports; the page shows none.
//  2. `self`, the view controller. It shows web pages in the person's browser, so it is a
//     `Presenter`; it keeps the callback in `verifyCallback`, as in the page. `sdk` is a
//     `GoPaySDK`.
//  3. `myBackend`, the partner's backend, which exchanges an auth code for the user's correlation
//     id, and `print`, so that a test can read what is printed.
//
// Nothing differs from the SDK in the calls themselves. What differs in behavior is on the page
// GoPay of the daemon's documentation, under "Differences".

/// An app written for GoPay's SDK.
@MainActor
final class GoPaySeedExample {
  protocol Backend {
    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, any Error>) -> Void)
  }

  private let sdk: GoPaySDK
  private nonisolated let screen: any Presenter
  private var verifyCallback: VerifyFeatureCallback?

  init(sdk: GoPaySDK, screen: any Presenter) {
    self.sdk = sdk
    self.screen = screen
  }
}

extension GoPaySeedExample: Presenter {
  nonisolated func present(_ url: URL) { screen.present(url) }
}

// MARK: - With credential exchange (short-term linking token)

extension GoPaySeedExample {
  func verifyWithExchange(
    _ myBackend: any Backend, print: @escaping @MainActor (String) -> Void
  ) {
    // Code of gopay-verify 134-172, 90b38325744eff70
    let request = FeatureRequest.Builder()
      .requestId(UUID().uuidString)
      .userCorrelationId("corr-5678")
      .token("short-term-linking-token")
      .build()

    let credentialReceiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { credential, requestId, completion in
        switch credential {
        case .authCode(let code):
          myBackend.exchangeAuthCode(code, requestId: requestId) { result in
            switch result {
            case .success(let correlationId):
              completion(.success(userCorrelationId: correlationId))
            case .failure(let error):
              completion(.failure(reason: error.localizedDescription))
            }
          }
        }
      }
    )

    let callback = VerifyFeatureCallback { result in
      print("Submission ID: \(result.submissionId)")
    } onError: { error in
      print("Error [\(error.code)]: \(error.title) — \(error.message)")
    }
    self.verifyCallback = callback  // retain strongly

    do {
      try sdk.getFeatureManager().verify(
        viewController: self,
        request: request,
        credentialReceiver: credentialReceiver,
        callback: AnyFeatureCallback(wrapping: callback)
      )
    } catch {
      print("verify threw: \(error)")
    }
    // End of code
  }
}

// MARK: - Without credential exchange (long-term token)

extension GoPaySeedExample {
  func verifyWithoutExchange(print: @escaping @MainActor (String) -> Void) {
    // Code of gopay-verify 178-200, 5a5a79328359d0a0
    let request = FeatureRequest.Builder()
      .requestId(UUID().uuidString)
      .userCorrelationId("corr-5678")
      .token("long-term-token")
      .build()

    let callback = VerifyFeatureCallback { result in
      print("Submission ID: \(result.submissionId)")
    } onError: { error in
      print("Error [\(error.code)]: \(error.message)")
    }
    self.verifyCallback = callback

    do {
      try sdk.getFeatureManager().verify(
        viewController: self,
        request: request,
        credentialReceiver: .none,
        callback: AnyFeatureCallback(wrapping: callback)
      )
    } catch {
      print("verify threw: \(error)")
    }
    // End of code
  }
}
