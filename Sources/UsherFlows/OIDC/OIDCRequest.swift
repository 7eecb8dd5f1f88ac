import UsherConfig
import UsherCore

/// What people may write into a sign-in's parameters, checked.
enum OIDCRequest {
  /// The scope to ask for: the caller's, else the configured one; always with `openid`.
  ///
  /// - Throws: `invalidParams` for what is no scope (RFC 6749 §3.3).
  static func scope(_ asked: String?, _ settings: OIDCSettings) throws(UsherError) -> String {
    guard let asked else { return settings.scopes.joined(separator: " ") }
    let isToken: (UInt8) -> Bool = { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    let tokens = asked.split(separator: " ")
    guard !tokens.isEmpty, asked.utf8.count <= 2048,
      tokens.allSatisfy({ $0.utf8.allSatisfy(isToken) })
    else { throw wrong("scope", "must be scopes with spaces between them") }
    return (tokens.contains("openid") ? [] : ["openid "]).joined() + tokens.joined(separator: " ")
  }

  /// A hint as it goes to the provider.
  ///
  /// - Throws: `invalidParams` for control characters, for nothing and for more than 1024 bytes.
  static func hint(_ text: String?, _ name: String) throws(UsherError) -> String? {
    guard let text else { return nil }
    let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    guard isPlain, (1...1024).contains(text.utf8.count) else {
      throw wrong(name, "must have 1 to 1024 bytes and no control characters")
    }
    return text
  }

  static func wrong(_ name: String, _ what: String) -> UsherError {
    UsherError(.invalidParams, "params.\(name) \(what)", detail: .init(field: "params.\(name)"))
  }
}
