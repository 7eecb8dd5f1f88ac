import JSONRPC

/// A token that usherd has issued. It prints as `<token>`.
package struct IssuedToken: Sendable, Equatable, CustomStringConvertible,
  CustomDebugStringConvertible
{
  private let accessToken: String?
  private let idToken: String?
  private let type: String
  /// The expiry of the token; nil if it is unknown.
  package let expiry: ExpiryTime?
  /// The user name that the target has for this token; nil if it has none.
  package let username: String?
  /// The pattern of the target, such as `https://git.example.com/*`; nil if it is unknown.
  package let match: String?

  /// Reads the reply of `token.forTarget`; nil if it is malformed. A token or user name with a
  /// control character is malformed: it could add a line to what the tool reads.
  init?(_ reply: JSONValue) {
    guard reply.objectValue != nil,
      let accessToken = Self.text(reply["accessToken"], upTo: 65_536),
      let idToken = Self.text(reply["idToken"], upTo: 65_536),
      let type = Self.text(reply["tokenType"], upTo: 64),
      let username = Self.text(reply["username"], upTo: 1024),
      let match = Self.text(reply["match"], upTo: 4096),
      accessToken != nil || idToken != nil
    else { return nil }
    switch reply["expiresAt"] {
    case nil, .null?: expiry = nil
    case .string(let text)?:
      guard let time = ExpiryTime(text) else { return nil }
      expiry = time
    case .bool?, .integer?, .number?, .array?, .object?: return nil
    }
    self.accessToken = accessToken
    self.idToken = idToken
    self.type = type ?? "Bearer"
    self.username = username
    self.match = match
  }

  /// The value of an optional member: nil in the outer optional if it is malformed, nil in the
  /// inner one if it is absent or empty.
  private static func text(_ value: JSONValue?, upTo limit: Int) -> String?? {
    switch value {
    case nil, .null?: return .some(nil)
    case .string(let text)?:
      guard text.utf8.count <= limit, !text.utf8.contains(where: \.isControl) else { return nil }
      return .some(text.isEmpty ? nil : text)
    case .bool?, .integer?, .number?, .array?, .object?: return nil
    }
  }

  /// Whether each use needs a proof of a key (DPoP, RFC 9449), which tools cannot give.
  var isBoundToKey: Bool { type.asciiLowercased == "dpop" }

  /// Whether the token may be sent as `Authorization: Bearer`. An ID token has the type `N_A`.
  var isBearer: Bool { ["bearer", "n_a"].contains(type.asciiLowercased) }

  /// The access token, or the ID token if that is what the target asks for.
  package var secret: String { accessToken ?? idToken ?? "" }

  /// The ID token, or the access token if that is what the target asks for.
  package var identity: String { idToken ?? accessToken ?? "" }

  /// The value of the header `Authorization`: Basic if the target has a user name (RFC 7617 §2),
  /// else Bearer (RFC 6750 §2.1).
  ///
  /// - Throws: ``TokenFailure`` if the token or the user name cannot be in such a header.
  package func authorization() throws(TokenFailure) -> String {
    guard let username else { return "Bearer \(try headerText())" }
    guard !username.contains(":") else { throw .unwritable("the user name has a colon") }
    return "Basic \(base64(Array("\(username):\(secret)".utf8)))"
  }

  /// The token as a part of a header.
  ///
  /// - Throws: ``TokenFailure`` if it has other than visible ASCII characters.
  func headerText() throws(TokenFailure) -> String {
    guard isBearer else { throw .unwritable("the token is no Bearer token") }
    guard secret.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw .unwritable("the token has characters that a header cannot have")
    }
    return secret
  }

  package var description: String { "<token>" }
  package var debugDescription: String { description }
}

/// The bytes in base64 with padding (RFC 4648 §4).
private func base64(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let group = bytes[start..<min(start + 3, bytes.count)]
    var bits = 0
    for offset in 0..<3 {
      bits = bits << 8 | (offset < group.count ? Int(group[start + offset]) : 0)
    }
    for place in 0..<4 {
      text.append(
        place <= group.count ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
    }
  }
  return String(decoding: text, as: UTF8.self)
}
