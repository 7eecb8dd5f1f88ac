package import JSONRPC
package import UsherConfig
package import UsherCore

/// The result of looking up the key that verifies an ID token.
package enum SigningKey: Sendable, Equatable {
  /// Exactly one key fits the token. The JWK holds only the members that the algorithm needs, with
  /// `alg` and `kid` set to those of the token. The signature must be verified with this key alone.
  case key(JSONValue, SigningAlgorithm)
  /// No key of the set fits the token. The caller fetches the key set again, once.
  case unknownKey
  /// The ID token must be rejected with any key set. The message is a user-facing sentence.
  case refused(message: String)
}

extension SigningKey {
  /// Selects the key that verifies a token from a key set (RFC 7517 §5). Each key is read by
  /// itself, so a malformed key does not affect the others.
  ///
  /// A token with `kid` needs the key with that id. A token without `kid` needs a set in which
  /// exactly one key fits. A key fits if `kty`, curve or size, `use`, `key_ops` and `alg` allow it;
  /// the last three may be absent.
  package init(for token: Secret, in keySet: JSONValue, _ protection: TokenProtection) {
    let header: JOSEHeader
    do {
      header = try JOSEHeader(of: token, protection)
    } catch {
      self = .refused(message: error.message)
      return
    }
    guard let keys = keySet["keys"]?.arrayValue else {
      self = .refused(message: "the provider's key set has no keys")
      return
    }
    let named = keys.filter { key in
      header.kid.map { key["kid"]?.stringValue?.hasSameBytes(as: $0) ?? false } ?? true
    }
    let fitting = named.lazy.compactMap { header.algorithm.publicKey($0) }
    switch fitting.prefix(2).count {
    case 0:
      let isEd448 = header.algorithm == .edDSA && named.contains { $0["crv"] == "Ed448" }
      self = isEd448 ? .refused(message: protection.refusalOfEd448) : .unknownKey
    case 1:
      var key = fitting.first ?? [:]
      key["kid"] = .string(header.kid ?? "only")
      self = .key(.object(key), header.algorithm)
    default:
      self = .refused(
        message: "more than one key of the provider fits the \(protection.reply.text)")
    }
  }
}

extension TokenProtection {
  fileprivate var refusalOfEd448: String {
    "the \(reply.text) is signed with a key on the curve Ed448, which is not supported: register "
      + "the client for another algorithm, such as ES256"
      + (reply.signingSetting.map { " (\($0))" } ?? "")
  }
}

extension SigningAlgorithm {
  /// Returns the members of the key that this algorithm needs; nil if the key does not fit the
  /// algorithm.
  fileprivate func publicKey(_ key: JSONValue) -> [String: JSONValue]? {
    guard key.allows("use", "sig"), key.allows("alg", rawValue), key.isForVerifying else {
      return nil
    }
    guard let (kty, crv, members) = form else { return nil }
    guard key["kty"]?.stringValue == kty else { return nil }
    if let crv, key["crv"]?.stringValue != crv { return nil }
    var needed: [String: JSONValue] = ["kty": .string(kty), "alg": .string(rawValue)]
    if let crv { needed["crv"] = .string(crv) }
    for name in members {
      guard let text = key[name]?.stringValue, let bytes = Base64URL.decode(text), !bytes.isEmpty
      else { return nil }
      // RSA keys have at least 2048 bits (RFC 7518 §3.3).
      if name == "n", bytes.drop(while: { $0 == 0 }).count < 256 { return nil }
      needed[name] = .string(text)
    }
    return needed
  }

  /// The form of a public key; nil if the client secret is the key.
  private var form: (kty: String, crv: String?, members: [String])? {
    switch self {
    case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: ("RSA", nil, ["n", "e"])
    case .es256: ("EC", "P-256", ["x", "y"])
    case .es384: ("EC", "P-384", ["x", "y"])
    case .es512: ("EC", "P-521", ["x", "y"])
    case .edDSA: ("OKP", "Ed25519", ["x"])
    case .hs256, .hs384, .hs512: nil
    }
  }
}

extension JSONValue {
  fileprivate func allows(_ member: String, _ word: String) -> Bool {
    self[member].map { $0.stringValue == word } ?? true
  }

  fileprivate var isForVerifying: Bool {
    self["key_ops"].map { $0.arrayValue?.contains("verify") ?? false } ?? true
  }
}
