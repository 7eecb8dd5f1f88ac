import Crypto
import CryptoExtras
import Foundation
import Testing

@testable import UsherSandbox

@Suite("Signed profiles of the Truecaller fake")
struct TruecallerSignatureTests {
  /// Returns the first RSA key of the key list, as a client selects it.
  private func key(_ list: JSON) throws -> _RSA.Signing.PublicKey {
    guard case .array(let keys) = list else { throw TruecallerApp.AppError(description: "no list") }
    let text = try #require(keys.first { $0["keyType"] == "RSA" }?["key"]?.text)
    let der = try #require(Data(base64Encoded: text))
    // The key must be a SubjectPublicKeyInfo, which contains the OID rsaEncryption (RFC 3279
    // section 2.3.1).
    let rsaEncryption: [UInt8] = [
      0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01,
    ]
    #expect(der.range(of: Data(rsaEncryption)) != nil)
    return try _RSA.Signing.PublicKey(derRepresentation: der)
  }

  private func key(_ app: TruecallerApp) async throws -> _RSA.Signing.PublicKey {
    try await key(app.send(.get, "/truecaller/v1/key", headers: [:]).json)
  }

  private func isSigned(
    _ answer: JSON, by key: _RSA.Signing.PublicKey, over bytes: (String) -> Data?
  ) throws -> Bool {
    let payload = try #require(answer["payload"]?.text)
    let signature = try #require(answer["signature"]?.text.flatMap { Data(base64Encoded: $0) })
    return key.isValidSignature(
      .init(rawRepresentation: signature),
      for: SHA512.hash(data: try #require(bytes(payload))), padding: .insecurePKCS1v1_5)
  }

  private func isRight(_ answer: JSON, by key: _RSA.Signing.PublicKey) throws -> Bool {
    try isSigned(answer, by: key) { Data($0.utf8) }
  }

  private func payload(_ answer: JSON) throws -> JSON {
    let text = try #require(answer["payload"]?.text)
    return try JSON(parsing: try #require(Data(base64Encoded: text)))
  }

  @Test(
    "a Truecaller profile is signed over its Base64 text, and settings make the signature wrong")
  func profile() async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    let plain = try await app.profile(token).json
    let key = try await key(app)
    try await app.set(["profileSignature": "right"])
    let right = try await app.profile(token).json
    #expect(try isRight(right, by: key))
    #expect(right["signatureAlgorithm"] == "SHA512withRSA")
    #expect(right["phoneNumber"] == "919876543210")
    #expect(try payload(right) == plain)
    try await app.set(["profileSignature": "wrong"])
    #expect(try await !isRight(app.profile(token).json, by: key))
    try await app.set(["profileSignature": "overDecoded"])
    let decoded = try await app.profile(token).json
    #expect(try !isRight(decoded, by: key))
    #expect(try isSigned(decoded, by: key) { Data(base64Encoded: $0) })
  }

  @Test("settings make the signed and the plain members of a Truecaller profile differ")
  func members() async throws {
    let app = try TruecallerApp()
    let token = try await app.accessToken()
    try await app.set([
      "profileSignature": "right", "signedMembers": ["firstName": "Signed", "countryCode": .null],
      "profileReply": ["firstName": "Plain", "signatureAlgorithm": .null],
    ])
    let answer = try await app.profile(token).json
    #expect(answer["firstName"] == "Plain")
    #expect(answer["countryCode"] == "IN")
    #expect(answer["signatureAlgorithm"] == nil)
    #expect(try payload(answer)["firstName"] == "Signed")
    #expect(try payload(answer)["countryCode"] == nil)
    #expect(try await isRight(answer, by: key(app)))
  }

  @Test("a control call signs any JSON object as Truecaller and refuses anything else")
  func sign() async throws {
    let app = try TruecallerApp()
    let answer = try await app.control(.post, "sign", ["firstName": "Åsa/+=", "n": 1])
    #expect(answer.status == 200)
    #expect(try payload(answer.json) == ["firstName": "Åsa/+=", "n": 1])
    #expect(try await isRight(answer.json, by: key(app)))
    #expect(try await app.control(.post, "sign", [1]).status == 400)
    #expect(try await app.control(.post, "sign").status == 400)
  }
}
