import UsherCore
import UsherStore

extension AccountDetails.Authenticator? {
  /// Returns the authenticator after a flow has delivered a secret, or none. A new secret starts
  /// without a record of received codes.
  func taking(_ secret: Sealed<Secret>?) -> Self {
    guard let secret, secret != self?.secret else { return self }
    return .init(secret: secret)
  }
}
