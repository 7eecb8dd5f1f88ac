import FoundationEssentials
import JSONRPC
import JWTKit
import UsherConfig
import UsherCore
import UsherFlows

/// Checks ID tokens' signatures, with keys at most an hour old. Which key is ours to choose (``SigningKey``), the mathematics is
/// jwt-kit's: its own choice of keys accepts too much.
actor IDTokenVerifier {
  private let http: ProviderHTTP
  private let clock: any Clock
  private var keySets: [String: (keys: JSONValue, fetchedAt: Timestamp)] = [:]

  init(http: ProviderHTTP, clock: any Clock) {
    self.http = http
    self.clock = clock
  }

  /// An unknown key id costs one fetch of the key set, then the token is refused.
  func verify(
    _ token: Secret, metadata: OIDCMetadata, provider: ProviderConfig
  ) async -> IDTokenVerdict {
    guard let url = metadata.jwksURI else {
      return .refused(message: "the provider has no jwks_uri to check the ID token with")
    }
    if let (keys, fetchedAt) = keySets[url],
      (.zero..<MetadataCache.lifetime).contains(clock.now() - fetchedAt)
    {
      switch SigningKey(for: token, in: keys, metadata: metadata) {
      case .key(let key, _): return await check(token, with: key)
      case .refused(let message): return .refused(message: message)
      case .unknownKey: break
      }
    }
    switch await keySet(at: url, of: provider) {
    case .failure(let trouble): return trouble.verdict
    case .success(let keys):
      keySets[url] = (keys, clock.now())
      switch SigningKey(for: token, in: keys, metadata: metadata) {
      case .key(let key, _): return await check(token, with: key)
      case .refused(let message): return .refused(message: message)
      case .unknownKey: return .refused(message: "the ID token's key is not one of the provider's")
      }
    }
  }

  enum KeyTrouble: Error {
    case unreachable(String)
    case unusable(String)

    var verdict: IDTokenVerdict {
      switch self {
      case .unreachable(let message): .unreachable(message: message)
      case .unusable(let message): .refused(message: message)
      }
    }
  }

  func keySet(
    at url: String, of provider: ProviderConfig
  ) async -> Result<JSONValue, KeyTrouble> {
    switch await http.send(OIDCCall.jwks(url: url), for: provider) {
    case .reply(let reply) where reply.status == 200:
      guard let keys = reply.jsonObject, keys["keys"]?.arrayValue != nil else {
        return .failure(.unusable("the provider's key set is not a JSON object with keys"))
      }
      return .success(.object(keys))
    case .reply(let reply):
      return .failure(.unreachable("the provider's key set answers HTTP \(reply.status)"))
    case .unreachable(let message, _): return .failure(.unreachable(message))
    case .unreadable(let message), .noToken(let message):
      return .failure(.unusable(message))
    }
  }

  private func check(_ token: Secret, with key: JSONValue) async -> IDTokenVerdict {
    do {
      let jwk = try JSONDecoder().decode(JWK.self, from: Data(key.encoded()))
      let keys = try await JWTKeyCollection().add(jwk: jwk, isDefault: true)
      _ = try await keys.verify(token.revealed(), as: AnyClaims.self)
    } catch {
      return .refused(message: "the ID token's signature is wrong")
    }
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else {
      return .refused(message: "the ID token is not in three parts")
    }
    return .genuine(payload: payload)
  }
}

/// The claims are the machine's to judge.
private struct AnyClaims: JWTPayload {
  func verify(using algorithm: some JWTAlgorithm) {}
}
