import FoundationEssentials
import UsherKit

// The two examples of the vendor's page "Verify with GoPay", with these corrections:
//
//  1. `import UsherKit`; the page shows no import. `presenter:`, which shows web pages,
//     replaces `viewController:`.
//  2. The page's view controller is a class of its own, on the main actor like a view controller;
//     it keeps the callback in `verifyCallback`, as in the page. `sdk` is a `GoPaySDK`: the page
//     does not say where it comes from.
//  3. The placeholders are `values`, so that a test can pass real ones.
//  4. `myBackend` is the partner's backend, a protocol. The handler names it in its capture list,
//     because a task of the SDK runs the handler, which must not read the view controller's
//     properties. The two closures of the callback capture `told` for the same reason.
//  5. Foundation's `localizedDescription` is a property of the backend's own error.
//  6. The page prints the results; here they are also yielded to `told`.

/// An app written for GoPay's SDK.
@MainActor
final class GoPaySeedExample {
  /// Values that the page leaves open.
  struct Values: Sendable {
    var userCorrelationId = "corr-5678"
    var shortTermToken = "short-term-linking-token"
    var longTermToken = "long-term-token"
  }

  /// The partner's backend, which exchanges an auth code for the user's correlation id.
  protocol Backend: Sendable {
    func exchangeAuthCode(
      _ code: String, requestId: String,
      completion: @escaping @Sendable (Result<String, BackendError>) -> Void)
  }

  struct BackendError: Error {
    var localizedDescription: String
  }

  enum News: Sendable, Equatable {
    case submitted(id: String)
    case failed(code: String, title: String, message: String)
    case threw(FeatureError)
  }

  /// The callback's results, in order.
  nonisolated let news: AsyncStream<News>
  private let told: AsyncStream<News>.Continuation
  private let sdk: GoPaySDK
  private let presenter: any Presenter
  private let myBackend: any Backend
  private let values: Values
  private var verifyCallback: VerifyFeatureCallback?

  init(
    _ values: Values = Values(), sdk: GoPaySDK, presenter: any Presenter, backend: any Backend
  ) {
    self.values = values
    self.sdk = sdk
    self.presenter = presenter
    myBackend = backend
    (news, told) = AsyncStream.makeStream()
  }
}

// MARK: - With credential exchange (short-term linking token)

extension GoPaySeedExample {
  func verifyWithExchange() {
    let request = FeatureRequest.Builder()
      .requestId(UUID().uuidString)
      .userCorrelationId(values.userCorrelationId)
      .token(values.shortTermToken)
      .build()

    let credentialReceiver = CredentialReceiver.exchange(
      handler: CredentialExchangeHandler { [myBackend] credential, requestId, completion in
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

    let callback = VerifyFeatureCallback { [told] result in
      print("Submission ID: \(result.submissionId)")
      told.yield(.submitted(id: result.submissionId))
    } onError: { [told] error in
      print("Error [\(error.code)]: \(error.title) — \(error.message)")
      told.yield(.failed(code: error.code, title: error.title, message: error.message))
    }
    self.verifyCallback = callback  // retain strongly

    do {
      try sdk.getFeatureManager().verify(
        presenter: presenter,
        request: request,
        credentialReceiver: credentialReceiver,
        callback: AnyFeatureCallback(wrapping: callback)
      )
    } catch {
      print("verify threw: \(error)")
      told.yield(.threw(error))
    }
  }
}

// MARK: - Without credential exchange (long-term token)

extension GoPaySeedExample {
  func verifyWithoutExchange() {
    let request = FeatureRequest.Builder()
      .requestId(UUID().uuidString)
      .userCorrelationId(values.userCorrelationId)
      .token(values.longTermToken)
      .build()

    let callback = VerifyFeatureCallback { [told] result in
      print("Submission ID: \(result.submissionId)")
      told.yield(.submitted(id: result.submissionId))
    } onError: { [told] error in
      print("Error [\(error.code)]: \(error.message)")
      told.yield(.failed(code: error.code, title: error.title, message: error.message))
    }
    self.verifyCallback = callback

    do {
      try sdk.getFeatureManager().verify(
        presenter: presenter,
        request: request,
        credentialReceiver: .none,
        callback: AnyFeatureCallback(wrapping: callback)
      )
    } catch {
      print("verify threw: \(error)")
      told.yield(.threw(error))
    }
  }
}
