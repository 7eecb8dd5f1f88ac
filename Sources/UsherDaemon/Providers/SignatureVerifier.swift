import FoundationEssentials
import JWTKit
import UsherConfig
import UsherCore
import UsherFlows

/// Verifies signatures of providers other than those of ID tokens, such as signed profiles, with a
/// key that was fetched at most one hour ago.
///
/// jwt-kit computes RSA with PKCS #1 v1.5 and SHA-512; keys below 2048 bits are refused.
actor SignatureVerifier {
  private let clock: any Clock
  private let send: @Sendable (any ProviderCall, ProviderConfig) async -> CallOutcome
  private var keys: [String: (key: [UInt8], fetchedAt: Timestamp)] = [:]

  /// - Parameter send: Sends a request for the key to the provider.
  init(
    clock: any Clock,
    send: @escaping @Sendable (any ProviderCall, ProviderConfig) async -> CallOutcome
  ) {
    self.clock = clock
    self.send = send
  }

  /// Verifies a signature. If the signature does not match the cached key, the key is fetched once
  /// more before the signature is refused.
  func verify(_ signed: SignedText, provider: ProviderConfig) async -> IDTokenVerdict {
    guard let source = provider.definition.signatureKeys else {
      return .keyless(message: "provider \(provider.name) does not sign profiles")
    }
    if let (key, fetchedAt) = keys[source.url],
      (.zero..<MetadataCache.lifetime).contains(clock.monotonicNow() - fetchedAt),
      await signed.isSigned(by: key)
    {
      return .genuine(payload: Array(signed.text.utf8))
    }
    switch source.read(await send(source.call, provider)) {
    case .key(let key):
      keys[source.url] = (key, clock.monotonicNow())
      return await signed.isSigned(by: key)
        ? .genuine(payload: Array(signed.text.utf8))
        : .refused(message: "the profile's signature is wrong")
    case .unreachable(let message, let reply): return .unreachable(message: message, reply: reply)
    case .unusable(let message): return .keyless(message: message)
    }
  }
}

extension SignedText {
  /// Whether the text was signed with the private key of `key`.
  ///
  /// - Parameter key: The public key, a SubjectPublicKeyInfo (RFC 5280) in DER.
  fileprivate func isSigned(by key: [UInt8]) async -> Bool {
    let base64 = Data(key).base64EncodedString(
      options: [.lineLength64Characters, .endLineWithLineFeed])
    let pem = "-----BEGIN PUBLIC KEY-----\n\(base64)\n-----END PUBLIC KEY-----\n"
    do {
      let key = try Insecure.RSA.PublicKey(pem: pem)
      let keys = await JWTKeyCollection().add(rsa: key, digestAlgorithm: .sha512)
      return try await keys.getKey().verify(signature, signs: Array(text.utf8))
    } catch {
      return false
    }
  }
}
