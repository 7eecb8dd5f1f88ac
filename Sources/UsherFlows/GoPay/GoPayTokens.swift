import JSONRPC
import UsherConfig
import UsherCore

/// Linking tokens: there is no renewal, and an account is unbound where the daemon has bound it.
struct GoPayTokens: TokenDialect {
  /// The account's attribute with the owner's installation, which an unbinding names.
  static let deviceAttribute = "deviceId"

  private let exchange: GoPayExchange
  /// Nil for an account that the daemon has not bound.
  private let device: String?

  /// - Parameter attributes: The account's.
  init(_ settings: GoPaySettings, _ attributes: [String: JSONValue]) {
    exchange = settings.exchange
    device = attributes[Self.deviceAttribute]?.stringValue
  }

  var isPublicClient: Bool { false }

  func renewal(_ refreshToken: Secret, scope: String?) -> (any ProviderCall)? { nil }

  func revocation(_ token: Secret, _ kind: TokenKind, bearer: Secret?) -> (any ProviderCall)? {
    guard let device else { return nil }
    return switch exchange {
    case .snap: GoPayCall.unbinding(token: token, device: device)
    // The binding is the backend's.
    case .app, .backend: nil
    }
  }

  /// An account that is not bound (any more), or was unbound by this very call, is what was wanted.
  func hasTakenBack(_ reply: HTTPReply) -> Bool {
    switch GoPayReply(.reply(reply), to: .unbinding(token: Secret(""), device: "")) {
    case .said: true
    case .refused(let refusal): ["4040905", "4010902", "4090900"].contains(refusal.code)
    case .failed, .unreadable: false
    }
  }
}
