import JSONRPC
import UsherCore

/// A log-in of mode `device` that succeeded: whose it is, and what ties them to the device.
struct SignedIn: Codable, Sendable, Equatable {
  let subject: String
  /// Masked: it is shown to clients that were granted nothing.
  let label: String
  private let tokens: TokenSet

  /// The scope of what ties a device: no grant is called so.
  private static let scope = "device"

  /// - Throws: A sentence that names the member which is missing or cannot be.
  init(_ members: [String: JSONValue]) throws(UnusableReply) {
    guard let account = members["account"]?.objectValue else {
      throw UnusableReply("the provider's answer has neither an account nor a two_factor")
    }
    guard let id = account["id"]?.stringValue, (1...128).contains(id.utf8.count),
      id.utf8.allSatisfy(\.isVisible)
    else { throw UnusableReply("the provider's account has no id") }
    subject = id
    let text = ProviderText.clean(account["label"]?.stringValue ?? "", limit: 100).masked
    label = text.isEmpty ? "Freedom ID \(id.prefix(8))" : text
    tokens = try FreedomIDTokenSet(members, scope: Self.scope).set()
  }

  var grant: AccountGrant {
    var grant = AccountGrant(
      subject: subject, label: label, attributes: ["mode": "device"], tokens: tokens)
    grant.isByConsent = true
    grant.tokensAreInternal = true
    return grant
  }

  /// - Parameter device: The one that they tie.
  func untying(from device: String?) -> FreedomDeviceCall {
    .untying((tokens.refreshToken ?? tokens.accessToken).unsealed(), device: device)
  }
}

extension String {
  /// A label as the provider should have masked it: of a number with five digits or more the last two
  /// stay, of an address in front of its `@` the first character.
  var masked: String {
    if let at = firstIndex(of: "@") { return "\(prefix(1))•••\(self[at...].prefix(1))•••" }
    let digits = count(where: \.isNumber)
    guard digits > 4 else { return self }
    var seen = 0
    return String(
      map { character -> Character in
        guard character.isNumber else { return character }
        seen += 1
        return seen > digits - 2 ? character : "•"
      })
  }
}
