import JSONRPC
import UsherConfig
import UsherCore

/// Linking tokens: they cannot be refreshed. Revocation removes a binding that the daemon created.
struct GoPayTokens: TokenDialect {
  /// The account attribute that holds the id of the owner's installation, which an unbinding names.
  static let deviceAttribute = "deviceId"

  private let exchange: GoPayExchange
  /// The id of the owner's installation; nil if the daemon did not bind the account.
  private let device: String?

  /// - Parameter attributes: The account's attributes.
  init(_ settings: GoPaySettings, _ attributes: [String: JSONValue]) {
    exchange = settings.exchange
    device = attributes[Self.deviceAttribute]?.stringValue
  }

  var isPublicClient: Bool { false }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? { nil }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    // In the other modes the partner's backend manages the binding.
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
