import Crypto
import Foundation
import JSONRPC
import Testing
import UsherConfig
import UsherCore
import UsherTestKit

@testable import UsherFlows

/// Keys and tokens that another implementation made.
private struct Vectors {
  let all: JSONValue

  init() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Fixtures/EncryptedTokens.json")
    all = try JSONValue(parsing: [UInt8](Data(contentsOf: file)))
  }

  func key(_ name: JSONValue?) -> Secret {
    Secret(all["keys"]?[name?.stringValue ?? ""]?.stringValue ?? "")
  }

  func decrypted(_ vector: JSONValue, _ change: (String) -> String = { $0 }) throws -> String {
    let key = try #require(DecryptionKey(pem: key(vector["key"])))
    let algorithm = KeyManagementAlgorithm(rawValue: vector["alg"]?.stringValue ?? "")
    let token = Secret(change(vector["token"]?.stringValue ?? ""))
    let bytes = try EncryptedToken(token, of: "ID token")
      .decrypted(with: key, by: try #require(algorithm))
    return String(decoding: bytes, as: UTF8.self)
  }

  var tokens: [JSONValue] { all["tokens"]?.arrayValue ?? [] }
  var refused: [JSONValue] { all["refused"]?.arrayValue ?? [] }
}

@Suite("Encrypted tokens")
struct EncryptedTokenTests {
  private let vectors: Vectors

  init() throws { vectors = try Vectors() }

  @Test("tokens that another implementation encrypted are decrypted, by every algorithm")
  func decrypted() throws {
    #expect(vectors.tokens.count == 18)
    for vector in vectors.tokens {
      let content = try vectors.decrypted(vector)
      #expect(content == vectors.all["content"]?.stringValue, "\(vector["alg"]?.text ?? "")")
    }
  }

  @Test("the example of RFC 7518 appendix C gives the key that it states")
  func agreedKey() throws {
    let d = "VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"
    let recipient = try P256.KeyAgreement.PrivateKey(
      rawRepresentation: #require(Base64URL.decode(d)))
    let header = """
      {"alg":"ECDH-ES","enc":"A128GCM","apu":"QWxpY2U","apv":"Qm9i","epk":{"kty":"EC","crv":"P-256",\
      "x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0",\
      "y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps"}}
      """
    let protected = Base64URL.encode(Array(header.utf8))
    let stated = try #require(Base64URL.decode("VqqN6vgjbSBcIijNcacQGg"))
    let box = try AES.GCM.seal(
      Array("content".utf8), using: SymmetricKey(data: stated),
      authenticating: Array(protected.utf8))
    let token = [
      protected, "", Base64URL.encode(box.nonce), Base64URL.encode(box.ciphertext),
      Base64URL.encode(box.tag),
    ].joined(separator: ".")
    let key = try #require(DecryptionKey(pem: Secret(recipient.pemRepresentation)))
    let bytes = try EncryptedToken(Secret(token), of: "ID token").decrypted(with: key, by: .ecdhES)
    #expect(bytes == Array("content".utf8))
  }

  @Test("a token that is encrypted otherwise than configured is refused with a sentence")
  func refused() throws {
    #expect(vectors.refused.count == 6)
    for vector in vectors.refused {
      let error = #expect(throws: UnusableReply.self) { try vectors.decrypted(vector) }
      let message = error?.message ?? ""
      #expect(message.contains(vector["says"]?.stringValue ?? "?"), "\(message)")
      #expect(message.contains("ID token"), "\(message)")
    }
  }

  @Test("a token of which any part was changed is not decrypted, and all are refused alike")
  func changed() throws {
    let last = "the ID token cannot be decrypted"
    for vector in vectors.tokens {
      for part in 0..<5 {
        let isDirect = vector["alg"] == "ECDH-ES" && part == 1
        let error = #expect(throws: UnusableReply.self) {
          try vectors.decrypted(vector) { token in
            var parts = token.split(separator: ".", omittingEmptySubsequences: false)
              .map(String.init)
            // A space in the JSON of the header changes only what the tag protects.
            parts[part] =
              part == 0 ? parts[0].withSpace : isDirect ? "AAAA" : parts[part].withOtherBit
            return parts.joined(separator: ".")
          }
        }
        #expect(error?.message.hasPrefix(last) == true, "\(vector.text) \(part)")
      }
    }
  }

  @Test("a token with a shortened tag or initialization vector is not decrypted")
  func shortened() throws {
    for vector in vectors.tokens {
      for (part, count) in [(2, 0), (2, 11), (4, 0), (4, 1), (4, 15)] {
        let error = #expect(throws: UnusableReply.self) {
          try vectors.decrypted(vector) { token in
            var parts = token.split(separator: ".", omittingEmptySubsequences: false)
              .map(String.init)
            parts[part] = Base64URL.encode((Base64URL.decode(parts[part]) ?? []).prefix(count))
            return parts.joined(separator: ".")
          }
        }
        #expect(
          error?.message.hasPrefix("the ID token cannot be decrypted") == true,
          "\(vector.text) \(part) \(count)")
      }
    }
  }

  @Test(
    "the key of the content must have the length that enc demands",
    arguments: [(16, true), (24, false), (32, false)])
  func keyLength(bytes: Int, isDecrypted: Bool) throws {
    let (recipient, sender) = (P256.KeyAgreement.PrivateKey(), P256.KeyAgreement.PrivateKey())
    let point = sender.publicKey.rawRepresentation
    let header: JSONValue = [
      "alg": "ECDH-ES+A128KW", "enc": "A128GCM",
      "epk": [
        "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(point.prefix(32))),
        "y": .string(Base64URL.encode(point.suffix(32))),
      ],
    ]
    // The Concat KDF of RFC 7518 §4.6.2, with empty apu and apv.
    var hash = SHA256()
    hash.update(data: [0, 0, 0, 1] as [UInt8])
    try sender.sharedSecretFromKeyAgreement(with: recipient.publicKey).withUnsafeBytes {
      hash.update(bufferPointer: $0)
    }
    let name = Array("ECDH-ES+A128KW".utf8)
    hash.update(data: [0, 0, 0, UInt8(name.count)] + name)
    hash.update(data: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128] as [UInt8])
    let wrapping = SymmetricKey(data: Array(hash.finalize().prefix(16)))
    let content = SymmetricKey(data: [UInt8](repeating: 9, count: bytes))
    let protected = Base64URL.encode(header.encoded())
    let box = try AES.GCM.seal(
      Array("content".utf8), using: content, authenticating: Array(protected.utf8))
    let token = [
      protected, Base64URL.encode(try AES.KeyWrap.wrap(content, using: wrapping)),
      Base64URL.encode(box.nonce), Base64URL.encode(box.ciphertext), Base64URL.encode(box.tag),
    ].joined(separator: ".")
    let key = try #require(DecryptionKey(pem: Secret(recipient.pemRepresentation)))
    let read = try? EncryptedToken(Secret(token), of: "ID token")
      .decrypted(with: key, by: .ecdhESA128KW)
    #expect(read == (isDecrypted ? Array("content".utf8) : nil))
  }

  @Test(
    "a text that is no encrypted token is refused",
    arguments: [
      "", "....", "e30.e30.e30", "e30....", "!!.e30.e30.e30.e30", "W10.e30.e30.e30.e30",
      "e30=.e30.e30.e30.e30", "eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAAA.AAAA.AAAA",
    ])
  func malformed(text: String) throws {
    let key = try #require(DecryptionKey(pem: vectors.key("P-256")))
    #expect(throws: UnusableReply.self) {
      try EncryptedToken(Secret(text), of: "ID token").decrypted(with: key, by: .ecdhES)
    }
  }

  @Test("an encrypted token has an upper bound of its length")
  func long() {
    let text = "e30...." + String(repeating: "A", count: EncryptedToken.maxLength)
    let error = #expect(throws: UnusableReply.self) {
      try EncryptedToken(Secret(text), of: "ID token")
    }
    #expect(error?.message.contains("131072") == true)
  }

  @Test("a key is exported with its use, and without its private members")
  func exported() throws {
    for (name, algorithm, members) in [
      ("P-256", .ecdhESA256KW, ["alg", "crv", "kid", "kty", "use", "x", "y"]),
      ("P-384", .ecdhES, ["alg", "crv", "kid", "kty", "use", "x", "y"]),
      ("RSA", .rsaOAEP256, ["alg", "e", "kid", "kty", "n", "use"]),
    ] as [(String, KeyManagementAlgorithm, [String])] {
      let key = try #require(DecryptionKey(pem: vectors.key(.string(name))))
      let exported = key.publicJWK(for: algorithm)
      #expect(exported.objectValue?.keys.sorted() == members)
      #expect(exported["use"] == "enc" && exported["alg"]?.stringValue == algorithm.rawValue)
      #expect(key.flaw(for: algorithm) == nil)
      #expect(key.flaw(for: algorithm.usesRSA ? .ecdhES : .rsaOAEP256) != nil)
    }
  }

  @Test("a made EC key serves, and a text that is no key is none")
  func made() throws {
    let pem = ClientKey.make { [UInt8](repeating: 7, count: $0) }
    #expect(DecryptionKey(pem: pem)?.flaw(for: .ecdhESA128KW) == nil)
    for text in ["", "secret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
      #expect(DecryptionKey(pem: Secret(text)) == nil)
    }
    #expect(DecryptionKey(pem: PartnerKeys.good)?.flaw(for: .rsaOAEP256) == nil)
    #expect(DecryptionKey(pem: PartnerKeys.short) == nil)
  }
}

/// What the configuration demands of ID tokens and userinfo answers.
@Suite("Protection of ID tokens and userinfo answers")
struct TokenProtectionTests {
  private func protection(
    _ reply: SignedTokenKind, _ metadata: OIDCMetadata = metadata(),
    _ change: (inout OIDCProtectionSettings) -> Void = { _ in }
  ) throws -> TokenProtection {
    TokenProtection(of: reply, metadata, try settings { change(&$0.protection) })
  }

  @Test("the configured algorithm is the only one, and an HMAC algorithm is used only then")
  func algorithms() throws {
    let listed = metadata {
      $0.idTokenAlgorithms = ["HS256", "ES256"]
      $0.userinfoAlgorithms = ["HS256", "PS256"]
    }
    #expect(try protection(.idToken, listed).algorithms == [.es256])
    #expect(try protection(.userinfo, listed).algorithms == [.ps256])
    #expect(try protection(.userinfo).algorithms == [.rs256])
    #expect(try protection(.idToken, listed) { $0.idTokenSigning = .hs384 }.algorithms == [.hs384])
    #expect(
      try protection(.userinfo, listed) { $0.userinfoSigning = .hs256 }.algorithms == [.hs256])
  }

  @Test(
    "a refused algorithm is named, with what to configure",
    arguments: [
      ("ES256K", ["alg ES256K", "expected RS256", "id_token_signed_response_alg", "ES256"]),
      ("Ed448", ["alg Ed448", "id_token_signed_response_alg"]),
      ("HS256", ["alg HS256", "set id_token_signed_response_alg"]), ("none", ["alg none"]),
      ("ES384", ["alg ES384", "expected RS256"]),
    ])
  func refusal(name: String, words: [String]) throws {
    let protection = try protection(.idToken)
    let error = #expect(throws: UnusableReply.self) {
      try JOSEHeader(of: signed(["alg": .string(name)]), protection)
    }
    for word in words { #expect(error?.message.contains(word) == true, "\(error?.message ?? "")") }
  }

  @Test("a key on the curve Ed448 is refused by its name")
  func ed448() {
    let key: JSONValue = ["kty": "OKP", "crv": "Ed448", "kid": "k1", "x": "AAAA"]
    let found = SigningKey(
      for: signed(["alg": "EdDSA", "kid": "k1"]), in: ["keys": [key]],
      TokenProtection(algorithms: [.edDSA]))
    guard case .refused(let message) = found else {
      Issue.record("\(found)")
      return
    }
    #expect(message.contains("Ed448") && message.contains("id_token_signed_response_alg"))
  }

  @Test("a token that must be encrypted and is not is refused, and names the setting")
  func unencrypted() throws {
    for (reply, setting) in [
      (.idToken, "id_token_encrypted_response_alg"),
      (.userinfo, "userinfo_encrypted_response_alg"),
    ] as [(SignedTokenKind, String)] {
      let protection = try protection(reply) {
        ($0.idTokenEncryption, $0.userinfoEncryption) = (.ecdhES, .ecdhES)
      }
      let error = #expect(throws: UnusableReply.self) {
        try protection.content(of: idToken) { () throws(UnusableReply) in
          throw UnusableReply("the key is not needed")
        }
      }
      #expect(error?.message.contains(setting) == true)
    }
    let encrypted = Secret("e30.e30.e30.e30.e30")
    let protection = try protection(.idToken)
    let error = #expect(throws: UnusableReply.self) { try JOSEHeader(of: encrypted, protection) }
    #expect(error?.message.contains("set id_token_encrypted_response_alg") == true)
  }

  @Test("only a userinfo answer may be encrypted without being signed")
  func unsigned() throws {
    let vectors = try Vectors()
    let key = try #require(DecryptionKey(pem: vectors.key("P-256")))
    let vector = try #require(vectors.tokens.first { $0["alg"] == "ECDH-ES" })
    let token = Secret(vector["token"]?.stringValue ?? "")
    let claims = Array((vectors.all["content"]?.stringValue ?? "").utf8)
    let userinfo = try protection(.userinfo) { $0.userinfoEncryption = .ecdhES }
    #expect(try userinfo.content(of: token) { key } == .claims(claims))
    let idToken = try protection(.idToken) { $0.idTokenEncryption = .ecdhES }
    #expect(throws: UnusableReply.self) { try idToken.content(of: token) { key } }
  }

  @Test("an encrypted userinfo answer that must be signed and is not is refused")
  func unsignedAgainstSetting() throws {
    let vectors = try Vectors()
    let key = try #require(DecryptionKey(pem: vectors.key("P-256")))
    let vector = try #require(vectors.tokens.first { $0["alg"] == "ECDH-ES" })
    let token = Secret(vector["token"]?.stringValue ?? "")
    let userinfo = try protection(.userinfo) {
      ($0.userinfoEncryption, $0.userinfoSigning) = (.ecdhES, .es256)
    }
    let error = #expect(throws: UnusableReply.self) { try userinfo.content(of: token) { key } }
    #expect(error?.message.contains("userinfo_signed_response_alg") == true)
  }

  @Test("a message authentication code is valid only with the client secret and its algorithm")
  func mac() {
    let secret = Secret("a-client-secret")
    let text = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1LTEifQ"
    let code = HMAC<SHA256>.authenticationCode(
      for: Array(text.utf8), using: SymmetricKey(data: Array("a-client-secret".utf8)))
    let token = Secret(text + "." + Base64URL.encode(code))
    #expect(SigningAlgorithm.hs256.isValid(token, by: secret))
    #expect(!SigningAlgorithm.hs256.isValid(token, by: Secret("another-secret")))
    #expect(!SigningAlgorithm.hs512.isValid(token, by: secret))
    #expect(!SigningAlgorithm.rs256.isValid(token, by: secret))
    for other in ["", text, text + ".", text + ".AAAA", text + ".!!"] {
      #expect(!SigningAlgorithm.hs256.isValid(Secret(other), by: secret))
    }
  }
}

extension String {
  /// The Base64 text of the same JSON with a space at its end.
  fileprivate var withSpace: String {
    Base64URL.encode((Base64URL.decode(self) ?? []) + [0x20])
  }

  /// The Base64 text with one bit of its first byte changed.
  fileprivate var withOtherBit: String {
    var bytes = Base64URL.decode(self) ?? []
    if !bytes.isEmpty { bytes[0] ^= 1 }
    return Base64URL.encode(bytes)
  }
}
