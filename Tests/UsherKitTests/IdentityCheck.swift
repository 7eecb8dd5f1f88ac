import FoundationEssentials
import UsherKit

struct IdentityCheck {
  var sdk = GoPaySDK()
  let presenter: any Presenter
  /// The app's backend: from an auth code to what it knows the person by.
  let redeem: @Sendable (_ code: String, _ requestId: String) async throws -> String

  /// Has a person verified: without a token, they log in first. Cancelling the task gives it up.
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
      presenter: presenter, request: request, credentialReceiver: .exchange(handler: handler))
  }
}
