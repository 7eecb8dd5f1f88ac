import JSONRPC
import UsherConfig
import UsherCore

/// How GoPay's linking tokens are handled: they cannot be refreshed, and a revocation removes the
/// binding that the daemon created.
struct GoPayTokens: TokenDialect {
  /// The account attribute with the id of the owner's installation, which the call that removes a
  /// binding contains.
  static let deviceAttribute = "deviceId"

  private let exchange: GoPayExchange
  /// The id of the owner's installation; nil if the daemon did not create the account's binding.
  private let device: String?

  /// Creates the dialect for an account.
  ///
  /// - Parameter attributes: The attributes of the account.
  init(_ settings: GoPaySettings, _ attributes: [String: JSONValue]) {
    exchange = settings.exchange
    device = attributes[Self.deviceAttribute]?.stringValue
  }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    // With other ways of exchange, the partner's backend manages the binding.
    guard let device, exchange == .snap else { return nil }
    return GoPayCall.unbinding(token: token, device: device)
  }

  /// Returns whether the account is not bound any more: this call removed the binding, or there was
  /// none.
  func hasRevoked(_ reply: HTTPReply) -> Bool {
    switch GoPayReply(.reply(reply), to: .unbinding(token: Secret(""), device: "")) {
    case .success: true
    case .refused(let refusal): ["4040905", "4010902", "4090900"].contains(refusal.code)
    case .failed, .unreadable, .noToken: false
    }
  }
}
