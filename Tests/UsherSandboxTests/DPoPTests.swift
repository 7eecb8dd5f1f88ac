import Crypto
import Foundation
import Testing

@testable import UsherSandbox

@Suite("DPoP proofs and the tokens that are bound to keys")
struct DPoPTests {
  private let key = P256.Signing.PrivateKey()

  private func jwk() -> [String: JSON] {
    let point = key.publicKey.rawRepresentation
    return [
      "kty": "EC", "crv": "P-256", "x": .string(Base64.url(point.prefix(32))),
      "y": .string(Base64.url(point.suffix(32))),
    ]
  }

  private func proof(
    _ header: [String: JSON] = [:], _ claims: [String: JSON] = ["jti": "1"]
  ) throws -> String {
    let usual: [String: JSON] = ["typ": "dpop+jwt", "alg": "ES256", "jwk": .object(jwk())]
    let text = [usual.applying(overrides: header), claims]
      .map { Base64.url(JSON.object($0).encoded()) }.joined(separator: ".")
    return text + "." + Base64.url(try key.signature(for: Data(text.utf8)).rawRepresentation)
  }

  private func problem(_ proof: String) -> String? {
    do throws(OAuthError) {
      _ = try DPoPProof(proof)
      return nil
    } catch {
      return error.error + ": " + error.description
    }
  }

  @Test("a proof is accepted, and its key has the thumbprint of RFC 7638")
  func accepted() throws {
    let proof = try DPoPProof(proof())
    let members = JSON.object(jwk()).encoded()
    #expect(proof.thumbprint == Base64.url(SHA256.hash(data: Data(members))))
    #expect(proof.claims["jti"] == "1")
  }

  @Test("a proof with a wrong header, key or signature is refused")
  func refused() throws {
    #expect(problem("a.b") == "invalid_dpop_proof: it is not a JWT")
    #expect(try problem(proof(["typ": "JWT"]))?.contains("typ") == true)
    #expect(try problem(proof(["alg": "none"]))?.contains("alg") == true)
    #expect(try problem(proof(["jwk": .null]))?.contains("jwk") == true)
    let withPrivateKey = jwk().merging(["d": "AAAA"]) { $1 }
    #expect(try problem(proof(["jwk": .object(withPrivateKey)]))?.contains("private") == true)
    let whole = try proof()
    let forged = String(whole.dropLast(8)) + "AAAAAAAA"
    #expect(problem(forged)?.contains("signature") == true)
  }

  @Test("a code that names a key is redeemed with a proof of that key only")
  func code() throws {
    for (presented, isAccepted) in [("key-1", true), ("key-2", false), (nil, false)]
      as [(String?, Bool)]
    {
      var ledger = TokenLedger(OIDCBackendSettings().terms)
      var authorization = TokenAuthorization.test()
      authorization.keyThumbprint = "key-1"
      let code = ledger.issueCode(
        for: authorization, redirectURI: redirectURI, challenge: challenge, now: start)
      let refused = refusal {
        _ = try ledger.redeemCode(
          code, client: publicClient, redirectURI: redirectURI, verifier: verifier,
          key: presented, now: start)
      }
      #expect((refused == nil) == isAccepted)
    }
  }

  @Test("the refresh token of a public client stays with the first key; that of another does not")
  func refreshTokens() throws {
    let (signedIn, first) = try TokenLedger.signedIn()
    var ledger = signedIn
    let bound = try ledger.refresh(
      first.refreshToken ?? "", client: publicClient, scope: nil, key: "key-1", now: start)
    #expect(bound.authorization.keyThumbprint == "key-1")
    #expect(
      ledger.permission(of: bound.accessToken, now: start)?.keyThumbprint == "key-1")
    for other in ["key-2", nil] {
      let refused = refusal {
        _ = try ledger.refresh(
          bound.refreshToken ?? "", client: publicClient, scope: nil, key: other, now: start)
      }
      #expect(refused == "invalid_grant")
    }
    _ = try ledger.refresh(
      bound.refreshToken ?? "", client: publicClient, scope: nil, key: "key-1", now: start)
  }
}
