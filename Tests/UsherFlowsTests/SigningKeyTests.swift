import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Signing keys of ID tokens")
struct SigningKeyTests {
  let modulus = JSONValue.string(Base64URL.encode([UInt8](repeating: 0xC5, count: 256)))
  /// A modulus of less than 2048 bits, also with a zero that does not count.
  let short = JSONValue.string(Base64URL.encode([UInt8](repeating: 0xC5, count: 255)))
  let padded = JSONValue.string(Base64URL.encode([0] + [UInt8](repeating: 0xC5, count: 255)))
  let point = JSONValue.string(Base64URL.encode([UInt8](repeating: 3, count: 32)))

  private func rsa(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
    var key: JSONValue = ["kty": "RSA", "kid": "k1", "n": modulus, "e": "AQAB"]
    for (name, value) in changes { key[name] = value }
    return key
  }

  private func ec(_ crv: JSONValue = "P-256", kid: JSONValue = "k1") -> JSONValue {
    ["kty": "EC", "kid": kid, "crv": crv, "x": point, "y": point]
  }

  /// Malformed and unsuitable keys, which the search must skip.
  private var oddKeys: [JSONValue] {
    [
      nil, 5, [], [:], ["kty": 7], ["kty": "oct", "k": "AAAA", "kid": "k1", "alg": "RS256"],
      ["kty": "EC", "crv": "secp256k1", "x": point, "y": point, "kid": "k1"],
      ["kty": "OKP", "crv": "X25519", "x": point, "kid": "k1"],
      rsa(["alg": "RSA-OAEP-256"]), rsa(["use": "enc"]), rsa(["use": 5]),
      rsa(["key_ops": ["encrypt"]]), rsa(["key_ops": "verify"]), rsa(["n": .some(nil)]),
      rsa(["n": "!!"]), rsa(["e": ""]), rsa(["n": "AQAB"]), rsa(["alg": "RS512"]),
      rsa(["kid": "other"]), rsa(["kid": 1]), rsa(["kid": .some(nil)]),
      rsa(["n": short]), rsa(["n": padded]),
    ]
  }

  private func pick(
    _ header: JSONValue, _ keys: [JSONValue], algorithms: [String]? = nil
  ) -> SigningKey {
    SigningKey(
      for: signed(header), in: ["keys": .array(keys)],
      .accepted(by: metadata { $0.idTokenAlgorithms = algorithms }))
  }

  private func isRefused(_ key: SigningKey) -> Bool {
    if case .refused = key { true } else { false }
  }

  @Test("the signing key is found among unsuitable keys and is reduced to its public members")
  func found() {
    let good = rsa(["alg": "RS256", "use": "sig", "x5c": 5, "d": "c2VjcmV0", "key_ops": ["verify"]])
    let expected: JSONValue = [
      "kty": "RSA", "kid": "k1", "alg": "RS256", "n": modulus, "e": "AQAB",
    ]
    #expect(pick(["alg": "RS256", "kid": "k1"], oddKeys + [good]) == .key(expected, .rs256))
  }

  @Test(
    "the signing key is unknown if no key of the set fits the ID token's header",
    arguments: [["alg": "RS256", "kid": "k1"], ["alg": "RS256"]])
  func unknown(header: JSONValue) {
    #expect(pick(header, []) == .unknownKey)
    #expect(pick(["alg": "RS256", "kid": "new"], oddKeys) == .unknownKey)
  }

  @Test("the signing key is selected by the curve of the ID token's algorithm")
  func curves() {
    let keys = [ec("P-384"), ec("P-521"), ec("P-256"), rsa()]
    let expected: JSONValue = [
      "kty": "EC", "kid": "k1", "alg": "ES256", "crv": "P-256", "x": point, "y": point,
    ]
    #expect(
      pick(["alg": "ES256", "kid": "k1"], keys, algorithms: ["ES256"]) == .key(expected, .es256))
    let okp: JSONValue = ["kty": "OKP", "crv": "Ed25519", "x": point, "kid": "k1"]
    let edwards: JSONValue = [
      "kty": "OKP", "kid": "k1", "alg": "EdDSA", "crv": "Ed25519", "x": point,
    ]
    #expect(
      pick(["alg": "EdDSA", "kid": "k1"], keys + [okp], algorithms: ["EdDSA"])
        == .key(edwards, .edDSA))
  }

  @Test("an ID token without kid is refused if more than one key fits")
  func withoutKid() {
    let header: JSONValue = ["alg": "RS256"]
    #expect(isRefused(pick(header, [rsa(), rsa(["kid": "k2"])])))
    guard case .key(let key, .rs256) = pick(header, [ec(), rsa(["kid": .some(nil)])]) else {
      Issue.record("no key was found")
      return
    }
    #expect(key["kid"] == "only")
  }

  @Test("an ID token is refused if two fitting keys have its kid")
  func twice() {
    #expect(isRefused(pick(["alg": "RS256", "kid": "k1"], [rsa(), rsa()])))
  }

  @Test("the typ of an ID token is JWT, in short or as a media type", arguments: ["JWT", "jwt"])
  func mediaType(name: String) {
    for text in [name, "application/\(name)"] {
      let header: JSONValue = ["alg": "RS256", "kid": "k1", "typ": .string(text)]
      #expect(!isRefused(pick(header, [rsa()])), "\(text)")
    }
    #expect(isRefused(pick(["alg": "RS256", "kid": "k1", "typ": "text/jwt"], [rsa()])))
  }

  @Test(
    "an ID token with an unacceptable alg, crit, typ or kid header is refused",
    arguments: [
      ["alg": "none"], ["alg": "None"], ["alg": "HS256", "kid": "k1"], ["alg": "HS512"], ["alg": 5],
      [:], ["alg": "RS256", "crit": ["b64"], "b64": false], ["alg": "RS256", "crit": []],
      ["alg": "RS256", "typ": "at+jwt"], ["alg": "RS256", "typ": 1], ["alg": "RS256", "kid": 1],
      ["alg": "ES256", "kid": "k1"], ["alg": "rs256"], "x", [],
    ] as [JSONValue])
  func badHeader(header: JSONValue) {
    #expect(isRefused(pick(header, [rsa(), ec()])))
  }

  @Test(
    "an ID token that is not a JWT of three parts is refused",
    arguments: [
      "", ".", "..", "a.b", "a.b.c", "e30.e30", "e30.e30.e30.e30", "e30.e30.e30.e30.e30",
      "eyJhbGciOiJSUzI1NiJ9=.e30.x", "{\"alg\":\"RS256\"}.e30.x",
    ])
  func noToken(text: String) {
    let key = SigningKey(for: Secret(text), in: ["keys": [rsa()]], .accepted(by: metadata()))
    #expect(isRefused(key))
  }

  @Test("ID tokens may use the algorithms that the metadata lists, or RS256 if it has no list")
  func listed() {
    #expect(SigningAlgorithm.accepted(by: metadata()) == [.rs256])
    #expect(
      SigningAlgorithm.accepted(
        by: metadata { $0.idTokenAlgorithms = ["none", "HS256", "ES256", "PS384", "ES256K"] })
        == [.es256, .ps384])
    #expect(isRefused(pick(["alg": "RS256", "kid": "k1"], [rsa()], algorithms: ["ES256"])))
    #expect(isRefused(pick(["alg": "RS256", "kid": "k1"], [rsa()], algorithms: [])))
    #expect(isRefused(pick(["alg": "none"], [rsa()], algorithms: ["none"])))
  }

  @Test(
    "an ID token is refused if the key set is malformed",
    arguments: [nil, [], ["keys": 5], [:]] as [JSONValue])
  func noSet(set: JSONValue) {
    let key = SigningKey(
      for: signed(["alg": "RS256", "kid": "k1"]), in: set, .accepted(by: metadata()))
    #expect(isRefused(key))
  }
}
