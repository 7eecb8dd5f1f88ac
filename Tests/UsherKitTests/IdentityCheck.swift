import FoundationEssentials
import UsherKit

struct IdentityCheck {
  var sdk = GoPaySDK()
  let presenter: any Presenter
  /// The call of the app's backend that redeems an auth code, and returns the person's
  /// `userCorrelationId`.
  let redeem: @Sendable (_ code: String, _ requestId: String) async throws -> String

  /// Verifies a person's identity. Without a linking token, the person logs in first. Cancelling
  /// the task cancels the verification.
  func verify(_ userCorrelationId: String, token: String? = nil) async throws -> VerifyResult {
    let request = FeatureRequest.Builder()
      .requestId(UUID().uuidString)
      .userCorrelationId(userCorrelationId)
      .token(token)
      .build()
    let handler = CredentialExchangeHandler { [redeem] credential, requestId in
      switch credential {
      case .authCode(let code):
        do {
          return .success(userCorrelationId: try await redeem(code, requestId))
        } catch {
          return .failure(reason: "\(error)")
        }
      }
    }
    return try await sdk.getFeatureManager().verify(
      viewController: presenter, request: request, credentialReceiver: .exchange(handler: handler))
  }
}
