import FoundationEssentials
import JSONRPC
import JWTKit
import UsherConfig
import UsherCore
import UsherFlows

/// Checks ID tokens' signatures, with keys at most an hour old. Which key is ours to choose (``SigningKey``), the mathematics is
/// jwt-kit's: its own choice of keys accepts too much.
actor IDTokenVerifier {
  /// The least time between two fetches for a key that the known set does not have.
  static let searchInterval = Duration.seconds(60)

  private struct KeySet {
    let url: String
    let keys: JSONValue
    let fetchedAt: Timestamp
    /// When the provider was last asked for a key that was not in the set it had.
    var searchedAt: Timestamp?
  }

  private let http: ProviderHTTP
  private let clock: any Clock
  /// One a provider: its metadata chooses the address, not how many are kept.
  private var keySets: [ProviderName: KeySet] = [:]

  init(http: ProviderHTTP, clock: any Clock) {
    self.http = http
    self.clock = clock
  }

  /// Fetches the key set anew, once, for a token whose key is not in the known one: its key id is
  /// unknown, or it has none and the known key did not sign it. At most one such fetch a minute.
  func verify(
    _ token: Secret, metadata: OIDCMetadata, provider: ProviderConfig
  ) async -> IDTokenVerdict {
    guard let url = metadata.jwksURI else {
      return .refused(message: "the provider has no jwks_uri to check the ID token with")
    }
    var searchedAt: Timestamp?
    if let known = keySets[provider.name], known.url == url,
      known.fetchedAt.isWithin(
        MetadataCache.lifetime, of: clock.monotonicNow())
    {
      let (verdict, mayBeNewKey) = await check(token, with: known.keys, metadata)
      // Looked at after the check: another verification may have begun a search meanwhile.
      let last = keySets[provider.name]?.searchedAt
      let isTooSoon = last?.isWithin(Self.searchInterval, of: clock.monotonicNow()) ?? false
      guard mayBeNewKey, !isTooSoon else { return verdict }
      searchedAt = clock.monotonicNow()
      keySets[provider.name]?.searchedAt = searchedAt
    }
    switch await keySet(at: url, of: provider) {
    case .failure(let trouble): return trouble.verdict
    case .success(let keys):
      keySets[provider.name] = KeySet(
        url: url, keys: keys, fetchedAt: clock.monotonicNow(),
        searchedAt: searchedAt ?? keySets[provider.name]?.searchedAt)
      return await check(token, with: keys, metadata).verdict
    }
  }

  /// - Returns: Also whether a newer key set may say otherwise.
  private func check(
    _ token: Secret, with keys: JSONValue, _ metadata: OIDCMetadata
  ) async -> (verdict: IDTokenVerdict, mayBeNewKey: Bool) {
    switch SigningKey(for: token, in: keys, metadata: metadata) {
    case .refused(let message): return (.refused(message: message), false)
    case .unknownKey:
      return (.refused(message: "the ID token's key is not one of the provider's"), true)
    case .key(let key, _):
      let verdict = await check(token, with: key)
      guard case .refused = verdict else { return (verdict, false) }
      let header = try? JOSEHeader(of: token, accepting: SigningAlgorithm.accepted(by: metadata))
      return (verdict, header?.kid == nil)
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

extension Timestamp {
  /// Whether so little time has passed since; false where the clock was set back behind it.
  fileprivate func isWithin(_ duration: Duration, of now: Timestamp) -> Bool {
    (.zero..<duration).contains(now - self)
  }
}
