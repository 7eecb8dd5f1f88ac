import FoundationEssentials
import JSONRPC
import JWTKit
import UsherConfig
import UsherCore
import UsherFlows

/// Verifies the signatures of ID tokens, userinfo answers and signed answers (JARM), with keys that
/// were fetched at most one hour ago, and decrypts those that must be encrypted.
///
/// The key is chosen by ``SigningKey``, because jwt-kit's own choice accepts too much; jwt-kit only
/// computes the verification.
actor IDTokenVerifier {
  /// The minimum time between two fetches of a provider's key set (JWKS, RFC 7517) that are made
  /// because the known set lacks an ID token's key. A failed fetch does not count.
  static let searchInterval = Duration.seconds(60)
  /// The minimum time between a failed fetch and the next one. Until then the error of the failed
  /// fetch is returned again.
  static let failureInterval = Duration.seconds(1)

  private struct KeySet {
    let url: String
    let keys: JSONValue
    let fetchedAt: Timestamp
    /// The time of the last successful fetch that was made because the known set lacked a key.
    let searchedAt: Timestamp?
  }

  private struct Fetch {
    let url: String
    let task: Task<Result<JSONValue, KeyError>, Never>
  }

  private struct FailedFetch {
    let url: String
    let problem: KeyError
    let at: Timestamp
  }

  private let http: ProviderHTTP
  private let credentials: Credentials
  private let dependencies: Dependencies
  /// One key set for each provider. A provider's metadata chooses the URL, but cannot add entries.
  private var keySets: [ProviderName: KeySet] = [:]
  private var fetches: [ProviderName: Fetch] = [:]
  private var failures: [ProviderName: FailedFetch] = [:]

  init(http: ProviderHTTP, credentials: Credentials, dependencies: Dependencies) {
    self.http = http
    self.credentials = credentials
    self.dependencies = dependencies
  }

  /// Decrypts a token if it must be encrypted, and verifies its signature.
  func verify(
    _ token: Secret, as reply: SignedTokenKind = .idToken, metadata: OIDCMetadata,
    provider: ProviderConfig
  ) async -> IDTokenVerdict {
    guard let provider = Provider<OIDCSettings>(provider) else {
      return .refused(message: "provider \(provider.name) issues no ID tokens")
    }
    let protection = TokenProtection(of: reply, metadata, provider.settings)
    let content: TokenProtection.Content
    do throws(UnusableReply) {
      content = try decrypted(token, protection, of: provider)
    } catch {
      return .refused(message: error.message)
    }
    switch content {
    case .claims(let payload): return .genuine(payload: payload)
    case .signed(let signed):
      let verdict = await verifySignature(of: signed, protection, metadata, provider)
      guard case .genuine(let payload, _) = verdict, signed != token else { return verdict }
      return .genuine(payload: payload, decrypted: signed)
    }
  }

  /// Decrypts a reply if it must be encrypted.
  nonisolated func decrypted(
    _ token: Secret, _ protection: TokenProtection, of provider: Provider<OIDCSettings>
  ) throws(UnusableReply) -> TokenProtection.Content {
    try protection.content(of: token) { () throws(UnusableReply) in
      let name = provider.settings.protection.decryptionCredential ?? ""
      guard let value = try? credentials.credential(named: name) else {
        throw UnusableReply(.missing(name, of: provider.name))
      }
      guard let key = DecryptionKey(pem: value) else {
        throw UnusableReply("credential \(name) \(DecryptionKey.flaw)")
      }
      if let flaw = protection.encryption.flatMap(key.flaw(for:)) {
        throw UnusableReply("credential \(name) \(flaw)")
      }
      return key
    }
  }

  /// Verifies the signature of a token that is not encrypted (any more), with the client secret if
  /// the configuration names such an algorithm, else with the provider's keys.
  func verifySignature(
    of token: Secret, _ protection: TokenProtection, _ metadata: OIDCMetadata,
    _ provider: Provider<OIDCSettings>
  ) async -> IDTokenVerdict {
    guard protection.algorithms.contains(where: \.usesClientSecret) else {
      return await verifyByKeySet(token, protection, metadata, provider.config)
    }
    do throws(UnusableReply) {
      let algorithm = try JOSEHeader(of: token, protection).algorithm
      let name = provider.config.credentialName ?? ""
      guard let value = try? credentials.credential(named: name) else {
        throw UnusableReply(.missing(name, of: provider.name))
      }
      guard !ClientKey.isPEM(value) else {
        throw UnusableReply(
          "credential \(name) is a private key, and \(algorithm.rawValue) needs a client secret")
      }
      guard algorithm.isValid(token, by: value) else { throw protection.wrongSignature }
      return try protection.genuine(token)
    } catch {
      return .refused(message: error.message)
    }
  }

  /// Verifies a signature with a key of the provider's key set.
  ///
  /// The key set is fetched again once if the known set may lack the token's key: its key id is
  /// unknown, or the token has no key id and the known key did not sign it. At most one such fetch
  /// a minute succeeds. Concurrent verifications share a fetch, and a network failure makes their
  /// verdict `unreachable`, not `refused`.
  private func verifyByKeySet(
    _ token: Secret, _ protection: TokenProtection, _ metadata: OIDCMetadata,
    _ provider: ProviderConfig
  ) async -> IDTokenVerdict {
    guard let url = metadata.jwksURI else {
      return .refused(
        message: "the provider has no jwks_uri to check the \(protection.reply.text) with")
    }
    let known = known(provider.name, at: url)
    if let known {
      let (verdict, mayBeNewKey) = await check(token, with: known.keys, protection)
      guard mayBeNewKey else { return verdict }
      // Another verification may have fetched a newer set during the check.
      if let newer = self.known(provider.name, at: url), newer.keys != known.keys {
        return await check(token, with: newer.keys, protection).verdict
      }
      let last = keySets[provider.name]?.searchedAt
      if last?.isWithin(Self.searchInterval, of: dependencies.clock.monotonicNow()) ?? false {
        return verdict
      }
    }
    switch await fetch(url, of: provider, isSearch: known != nil) {
    case .failure(let problem): return problem.verdict
    case .success(let keys): return await check(token, with: keys, protection).verdict
    }
  }

  /// Returns the known key set; nil if there is none or it is more than an hour old.
  private func known(_ provider: ProviderName, at url: String) -> KeySet? {
    guard let known = keySets[provider], known.url == url,
      known.fetchedAt.isWithin(MetadataCache.lifetime, of: dependencies.clock.monotonicNow())
    else { return nil }
    return known
  }

  /// Returns the key set from the fetch in progress, or from a new fetch.
  ///
  /// - Parameter isSearch: Whether the fetch is made because the known set lacks a key.
  private func fetch(
    _ url: String, of provider: ProviderConfig, isSearch: Bool
  ) async -> Result<JSONValue, KeyError> {
    if let fetch = fetches[provider.name], fetch.url == url { return await fetch.task.value }
    if let failure = failures[provider.name], failure.url == url,
      failure.at.isWithin(Self.failureInterval, of: dependencies.clock.monotonicNow())
    {
      return .failure(failure.problem)
    }
    let task = Task(executorPreference: dependencies.executor) {
      let result = await self.keySet(at: url, of: provider)
      await self.cache(result, from: url, of: provider.name, isSearch: isSearch)
      return result
    }
    fetches[provider.name] = Fetch(url: url, task: task)
    return await task.value
  }

  private func cache(
    _ result: Result<JSONValue, KeyError>, from url: String, of provider: ProviderName,
    isSearch: Bool
  ) {
    if fetches[provider]?.url == url { fetches[provider] = nil }
    let now = dependencies.clock.monotonicNow()
    switch result {
    case .failure(let problem):
      failures[provider] = FailedFetch(url: url, problem: problem, at: now)
    case .success(let keys):
      failures[provider] = nil
      keySets[provider] = KeySet(
        url: url, keys: keys, fetchedAt: now,
        searchedAt: isSearch ? now : keySets[provider]?.searchedAt)
    }
  }

  /// Checks a token against a key set.
  ///
  /// - Returns: The verdict, and whether a newer key set could change it.
  private func check(
    _ token: Secret, with keys: JSONValue, _ protection: TokenProtection
  ) async -> (verdict: IDTokenVerdict, mayBeNewKey: Bool) {
    switch SigningKey(for: token, in: keys, protection) {
    case .refused(let message): return (.refused(message: message), false)
    case .unknownKey:
      let message = "the \(protection.reply.text)'s key is not in the provider's key set"
      return (.refused(message: message), true)
    case .key(let key, _):
      let verdict = await checkSignature(of: token, by: key, protection)
      guard case .refused = verdict else { return (verdict, false) }
      return (verdict, (try? JOSEHeader(of: token, protection))?.kid == nil)
    }
  }

  enum KeyError: Error {
    case unreachable(String)
    case unusable(String)

    var verdict: IDTokenVerdict {
      switch self {
      case .unreachable(let message): .unreachable(message: message)
      case .unusable(let message): .refused(message: message)
      }
    }
  }

  func keySet(at url: String, of provider: ProviderConfig) async -> Result<JSONValue, KeyError> {
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

  private func checkSignature(
    of token: Secret, by key: JSONValue, _ protection: TokenProtection
  ) async -> IDTokenVerdict {
    do {
      let jwk = try JSONDecoder().decode(JWK.self, from: Data(key.encoded()))
      let keys = try await JWTKeyCollection().add(jwk: jwk, isDefault: true)
      _ = try await keys.verify(token.revealed(), as: AnyClaims.self)
    } catch {
      return .refused(message: protection.wrongSignature.message)
    }
    do throws(UnusableReply) {
      return try protection.genuine(token)
    } catch {
      return .refused(message: error.message)
    }
  }
}

extension TokenProtection {
  fileprivate var wrongSignature: UnusableReply {
    UnusableReply("the \(reply.text)'s signature is wrong")
  }

  /// Returns the verdict on a token whose signature is valid.
  fileprivate func genuine(_ token: Secret) throws(UnusableReply) -> IDTokenVerdict {
    let parts = token.revealed().split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else {
      throw UnusableReply("the \(reply.text) does not have three parts")
    }
    return .genuine(payload: payload)
  }
}

/// A payload that accepts any claims, because the flow's state machine checks the claims.
private struct AnyClaims: JWTPayload {
  func verify(using algorithm: some JWTAlgorithm) {}
}

extension Timestamp {
  /// Whether less than `duration` has passed since this time; false if the clock was set back.
  fileprivate func isWithin(_ duration: Duration, of now: Timestamp) -> Bool {
    (.zero..<duration).contains(now - self)
  }
}
