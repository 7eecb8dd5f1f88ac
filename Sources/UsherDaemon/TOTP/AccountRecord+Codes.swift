import UsherCore
import UsherStore

extension AccountDetails.Authenticator? {
  /// Returns the authenticator after a flow has delivered a TOTP secret, or has not (nil). A new
  /// secret starts without a record of the codes that clients received.
  func updated(with secret: Sealed<Secret>?) -> Self {
    guard let secret, secret != self?.secret else { return self }
    return .init(secret: secret)
  }
}
