import Crypto
import FoundationEssentials
import JWTKit

/// Issues access and ID tokens as JWTs (RFC 9068, ES256) and verifies their signatures.
struct TokenSigner: Sendable {
  private let key = P256.Signing.PrivateKey()

  func sign(_ claims: [String: JSON], type: String) async throws -> String {
    try await keys().sign(
      Claims(claims), header: JSON.object(["typ": .string(type)]).decoded(as: JWTHeader.self))
  }

  /// Returns the claims of a token that this signer issued, else nil. Times are not checked.
  func claims(of token: String) async -> [String: JSON]? {
    try? await keys().verify(token, as: Claims.self).members
  }

  private func keys() async throws -> JWTKeyCollection {
    await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(backing: key))
  }
}
