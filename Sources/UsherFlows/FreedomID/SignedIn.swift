import JSONRPC
import UsherCore

/// A successful log-in in mode `device`: the account, and the tokens by which it is linked to the
/// device.
struct SignedIn: Codable, Sendable, Equatable {
  let subject: String
  /// The name of the account for display. It is masked, because even clients without any grant see
  /// it.
  let label: String
  private let tokens: TokenSet

  /// The scope under which the tokens of mode `device` are stored. No grant has this name, so no
  /// client can request them.
  private static let scope = "device"

  /// Reads the account and its tokens from a reply.
  ///
  /// - Throws: A sentence that names the missing or invalid member.
  init(_ members: [String: JSONValue]) throws(UnusableReply) {
    guard let account = members["account"]?.objectValue else {
      throw UnusableReply("the provider's answer has neither an account nor a two_factor")
    }
    guard let id = account["id"]?.visibleText(upTo: 128) else {
      throw UnusableReply("the provider's account has no id")
    }
    subject = id
    label =
      ProviderText.shown(account["label"]?.stringValue, limit: 100)?.maskedLabel
      ?? "Freedom ID \(id.prefix(8))"
    tokens = try TokenSet(freedomID: members, scope: Self.scope)
  }

  var grant: AccountGrant {
    var grant = AccountGrant(
      subject: subject, label: label, attributes: ["mode": "device"], tokens: tokens)
    grant.isByConsent = true
    grant.tokensAreInternal = true
    return grant
  }

  /// Returns the call that unlinks the account from a device.
  ///
  /// - Parameter device: The device that the account is linked to.
  func untying(from device: String?) -> FreedomDeviceCall {
    .untying((tokens.refreshToken ?? tokens.accessToken).unsealed(), device: device)
  }
}

extension String {
  /// The text masked in case the provider did not: a number of five or more digits keeps its last
  /// two, an e-mail address its first character.
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

  /// The label of an account masked in case the provider did not: as ``masked``, and a name keeps
  /// the first letter of each of its words.
  var maskedLabel: String {
    guard !contains("@") else { return masked }
    return masked.split(whereSeparator: \.isWhitespace)
      .map { $0.count(where: \.isLetter) > 1 ? "\($0.prefix(1))•••" : String($0) }
      .joined(separator: " ")
  }
}
