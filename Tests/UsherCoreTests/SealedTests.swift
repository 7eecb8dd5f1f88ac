import FoundationEssentials
import Testing
import UsherCore

@Suite("Sealed secrets")
struct SealedTests {
  private let sealed = [Sealed(Secret("hunter2"))]

  @Test("a sealed secret is encoded and decoded by the storage coder")
  func storage() throws {
    let bytes = try encoder(true).encode(sealed)
    #expect(String(decoding: bytes, as: UTF8.self) == #"["hunter2"]"#)
    #expect(try decoder(true).decode([Sealed<Secret>].self, from: bytes) == sealed)
  }

  @Test(
    "a coder without the storage key can neither encode nor decode a sealed secret",
    arguments: [nil, false, "true", 1] as [(any Sendable)?])
  func elsewhere(key: (any Sendable)?) throws {
    let error = #expect(throws: EncodingError.self) { try encoder(key).encode(sealed) }
    #expect(!"\(String(describing: error))".contains("hunter2"))
    #expect(throws: DecodingError.self) {
      try decoder(key).decode([Sealed<Secret>].self, from: Data(#"["hunter2"]"#.utf8))
    }
  }

  @Test("a token set is refused by other coders and read back equal by the storage coder")
  func tokens() throws {
    let tokens = TokenSet(
      accessToken: Sealed(Secret("at")), tokenType: "Bearer",
      expiresAt: Timestamp(milliseconds: 1_700_000_000_123), scope: "openid",
      refreshToken: Sealed(Secret("rt")), idToken: nil)
    #expect(throws: EncodingError.self) { try encoder(nil).encode(tokens) }
    let bytes = try encoder(true).encode(tokens)
    #expect(try decoder(true).decode(TokenSet.self, from: bytes) == tokens)
  }

  private func encoder(_ key: (any Sendable)?) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.userInfo[.sealedStorage] = key
    return encoder
  }

  private func decoder(_ key: (any Sendable)?) -> JSONDecoder {
    let decoder = JSONDecoder()
    decoder.userInfo[.sealedStorage] = key
    return decoder
  }
}
