import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// Implementation of the methods about configured providers.
struct ProviderService: Sendable {
  let configStore: ConfigStore
  let credentials: Credentials
  let http: ProviderHTTP
  let metadata: MetadataCache
  let verifier: IDTokenVerifier
  let clock: any Clock
  let entropy: any Entropy
  /// Serializes the changes of the daemon's registration at a provider.
  let registrations = AsyncKeyedLock<ProviderName>()

  /// Returns the providers that the caller may use.
  func list(_ caller: Caller) -> ProviderList.Reply {
    let offered = configStore.current.config.providers + [.local]
    let visible = offered.filter { caller.may(ProviderGet.name, provider: $0.name) }
    return .init(providers: visible.map(entry))
  }

  func get(_ name: ProviderName) throws(UsherError) -> ProviderGet.Reply {
    entry(try configStore.provider(named: name))
  }

  private func entry(_ provider: ProviderConfig) -> ProviderGet.Reply {
    .init(
      name: provider.name, type: provider.type, issuer: provider.issuer,
      flows: ProviderRegistry.flows(of: provider.settings.variety).map { flow($0) })
  }

  private func flow<Machine: FlowMachine>(_ type: Machine.Type) -> ProviderGet.Flow {
    .init(
      kind: type.kind, summary: type.summary,
      params: StrictDecoding.documentedSchema(of: Machine.Params.self).json)
  }
}

// Implementation of `provider.jwks`.
extension ProviderService {
  /// Returns the public keys of the provider's client, and makes the missing ones if the call says
  /// so: those with which it signs, and the one for which the provider encrypts.
  func jwks(_ call: ProviderJWKS) async throws(UsherError) -> ProviderJWKS.Reply {
    let provider = try configStore.provider(named: call.provider)
    let settings = Provider<OIDCSettings>(provider)?.settings
    var keys: [JSONValue] = []
    let assertionKey = settings?.jwtBearer.keyCredential
    if let name = assertionKey {
      keys.append(try await assertionSigningKey(name, of: provider, call))
    }
    let decryption = settings?.protection.decryptionCredential
    let hasOtherKey = assertionKey != nil || decryption != nil
    let hasClientKey =
      hasOtherKey ? try signsByKey(provider) && provider.credentialName != assertionKey : true
    if hasClientKey { keys.append(try await clientKey(of: provider, call)) }
    if let name = decryption, let algorithm = settings?.protection.encryptions.first {
      keys.append(try await decryptionKey(name, for: algorithm, of: provider, call))
    }
    return .init(keys: keys)
  }

  private func assertionSigningKey(
    _ name: String, of provider: ProviderConfig, _ call: ProviderJWKS
  ) async throws(UsherError) -> JSONValue {
    let credential = try await credential(name, of: provider, call) { () throws(UsherError) in
      ClientKey.make { entropy.bytes($0) }
    }
    guard let key = ClientKey(pem: credential) else {
      throw UsherError(
        .invalidParams, "credential \(name) \(ClientKey.flaw)", field: "provider")
    }
    return key.publicJWK
  }

  /// Whether the client of a provider that has another key, too, authenticates itself by a key.
  private func signsByKey(_ provider: ProviderConfig) throws(UsherError) -> Bool {
    switch provider.definition.oauthClient.auth {
    case .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth: return true
    case .auto:
      guard let name = provider.credentialName else { return false }
      return try credentials.credential(named: name).map(ClientKey.isPEM) ?? false
    case .basic, .post, .clientSecretJWT, .none: return false
    }
  }

  func decryptionKey(
    _ name: String, for algorithm: KeyManagementAlgorithm, of provider: ProviderConfig,
    _ call: ProviderJWKS
  ) async throws(UsherError) -> JSONValue {
    let credential = try await credential(name, of: provider, call) { () throws(UsherError) in
      guard !algorithm.usesRSA else {
        throw UsherError(
          .notFound,
          "credential \(name) is not set, and usherd makes no RSA keys: make one with "
            + "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048, and run: "
            + "usherctl credential set \(name)")
      }
      return ClientKey.make { entropy.bytes($0) }
    }
    guard let key = DecryptionKey(pem: credential) else {
      throw UsherError(
        .invalidParams, "credential \(name) \(DecryptionKey.flaw)", field: "provider")
    }
    if let flaw = key.flaw(for: algorithm) {
      throw UsherError(.invalidParams, "credential \(name) \(flaw)", field: "provider")
    }
    return key.publicJWK(for: algorithm)
  }

  /// Returns the key in a credential, and makes one if there is none and the call says so.
  private func credential(
    _ name: String, of provider: ProviderConfig, _ call: ProviderJWKS,
    make: () throws(UsherError) -> Secret
  ) async throws(UsherError) -> Secret {
    if call.create == true { return try await credentials.setIfMissing(name, make) }
    guard let credential = try credentials.credential(named: name) else {
      throw UsherError(
        .notFound,
        "credential \(name) is not set: usherctl provider jwks \(provider.name) --create makes a key"
      )
    }
    return credential
  }

  /// Returns the public key by which the client authenticates itself.
  func clientKey(
    of provider: ProviderConfig, _ call: ProviderJWKS
  ) async throws(UsherError) -> JSONValue {
    guard let name = provider.credentialName else {
      throw UsherError(
        .invalidParams, "provider \(provider.name) has no client_credential, which names the key",
        field: "provider")
    }
    // Any other client sends its credential to the provider, which must not receive a private key.
    let client = provider.definition.oauthClient
    guard [.auto, .privateKeyJWT].contains(client.auth) || client.auth.usesCertificate else {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) authenticates its client by a secret: only private_key_jwt, "
          + "tls_client_auth and self_signed_tls_client_auth use a key", field: "provider")
    }
    let credential = try await credential(name, of: provider, call) { () throws(UsherError) in
      try makeKey(of: client, provider.name)
    }
    return try publicKey(credential, name, of: client, provider.name)
  }

  /// Returns a new private key, with a certificate if the client needs one.
  private func makeKey(
    of client: OAuthClient, _ provider: ProviderName
  ) throws(UsherError) -> Secret {
    switch client.auth {
    case .selfSignedTLSClientAuth:
      return try ClientCertificate.selfSigned(for: client.id, at: clock.now()) { entropy.bytes($0) }
    case .tlsClientAuth:
      let name = client.credential ?? ""
      throw UsherError(
        .invalidParams,
        "provider \(provider) needs a certificate that an authority issues; set it together with "
          + "its private key: usherctl credential set \(name)", field: "create")
    case .auto, .basic, .post, .clientSecretJWT, .privateKeyJWT, .none:
      return ClientKey.make { entropy.bytes($0) }
    }
  }

  private func publicKey(
    _ credential: Secret, _ name: String, of client: OAuthClient, _ provider: ProviderName
  ) throws(UsherError) -> JSONValue {
    let flaw: String
    do throws(InvalidValue) {
      if client.auth.usesCertificate {
        return try ClientCertificate(pem: credential, named: name, of: provider).jwk
      }
      if let key = ClientKey(pem: credential) { return key.publicJWK }
      flaw = ClientKey.flaw
    } catch {
      flaw = error.message
    }
    throw UsherError(.invalidParams, "credential \(name) \(flaw)", field: "provider")
  }
}

// Implementation of `provider.check`.
extension ProviderService {
  /// Checks everything that a sign-in at the provider needs, without cached answers.
  func check(_ name: ProviderName) async throws(UsherError) -> ProviderCheck.Reply {
    let provider = try configStore.provider(named: name)
    let findings =
      if let provider = Provider<OIDCSettings>(provider), provider.settings.oauth2 == nil {
        await check(provider)
      } else {
        await probe(provider)
      }
    return .init(provider: name, healthy: findings.allSatisfy(\.fine), findings: findings)
  }

  private func check(_ provider: Provider<OIDCSettings>) async -> [ProviderCheck.Finding] {
    var findings: [ProviderCheck.Finding] = []
    switch await metadata.fetch(provider).discovery {
    case .found(let metadata):
      let flaw =
        provider.settings.flaw(of: metadata)
        ?? (metadata.authorizationEndpoint == nil
          ? nil : provider.settings.flaw(ofAuthorizationAt: metadata))
      findings.append(
        .init(
          subject: "discovery", fine: flaw == nil, message: flaw ?? "issuer \(metadata.issuer)"))
      findings.append(await keys(metadata, provider))
      findings += redirect(metadata, provider)
      findings += await certificate(provider, metadata)
      findings += await clientDocument(provider, metadata)
    case .unreachable(let message), .unusable(let message):
      findings.append(.init(subject: "discovery", fine: false, message: message))
    }
    let url = OIDCMetadata.wellKnownURLs(issuer: provider.settings.issuer.text)[0]
    let outcome = await http.send(OIDCCall.discovery(url: url), for: provider.config)
    findings += await assertionFiles(of: provider)
    findings += identityProvider(of: provider)
    return findings + credentials(provider.config)
      + [clock(outcome, allowed: provider.settings.clockSkewSeconds)]
  }

  private func probe(_ provider: ProviderConfig) async -> [ProviderCheck.Finding] {
    let credentials = credentials(provider)
    guard let probe = provider.definition.probe, credentials.allSatisfy(\.fine) else {
      return credentials
    }
    let outcome = await http.send(probe.call, for: provider)
    let (fine, message) = probe.evaluate(outcome)
    return credentials + [
      .init(subject: probe.subject, fine: fine, message: message), clock(outcome, allowed: 60),
    ]
  }

  /// Returns what a client with a certificate must know: whether the provider accepts it, and
  /// whether access tokens are bound to it. Empty for any other client.
  private func certificate(
    _ provider: Provider<OIDCSettings>, _ metadata: OIDCMetadata
  ) async -> [ProviderCheck.Finding] {
    guard provider.settings.clientAuth.usesCertificate, credential(provider.config).fine else {
      return []
    }
    let probe = ProviderProbe(clientOf: provider, metadata)
    let (fine, message) = probe.evaluate(await http.send(probe.call, for: provider.config))
    let accepted = ProviderCheck.Finding(subject: probe.subject, fine: fine, message: message)
    guard metadata.bindsAccessTokensToCertificate == true else { return [accepted] }
    let bound =
      "the provider binds them to the client's certificate: a service accepts them only from a "
      + "program that has the certificate, too"
    return [accepted, .init(subject: "access tokens", fine: true, message: bound)]
  }

  private func keys(
    _ metadata: OIDCMetadata, _ provider: Provider<OIDCSettings>
  ) async -> ProviderCheck.Finding {
    guard let url = metadata.jwksURI else {
      if provider.settings.protection.idTokenSigning?.usesClientSecret == true {
        return .init(
          subject: "keys", fine: true, message: "the client secret verifies ID tokens")
      }
      return .init(subject: "keys", fine: false, message: "the provider's metadata has no jwks_uri")
    }
    switch await verifier.keySet(at: url, of: provider.config) {
    case .success(let keys):
      let count = keys["keys"]?.arrayValue?.count ?? 0
      return .init(subject: "keys", fine: count > 0, message: "\(count) keys")
    case .failure(.unreachable(let message)), .failure(.unusable(let message)):
      return .init(subject: "keys", fine: false, message: message)
    }
  }

  /// Reports that another provider could get an answer that is meant for this one (mix-up attack,
  /// RFC 9700 §4.4): both have the same redirect path, and the answers do not name the issuer.
  private func redirect(
    _ metadata: OIDCMetadata, _ provider: Provider<OIDCSettings>
  ) -> [ProviderCheck.Finding] {
    guard !metadata.namesIssuerInRedirect else { return [] }
    let path = provider.settings.redirect.path
    let other = configStore.current.config.providers.first { other in
      guard let settings = Provider<OIDCSettings>(other)?.settings else { return false }
      return settings.redirect.path == path
        && !settings.issuer.text.hasSameBytes(as: provider.settings.issuer.text)
    }
    guard let other else { return [] }
    let own = "http://127.0.0.1" + (path == "/" ? "" : path) + "/\(provider.name)"
    return [
      .init(
        subject: "redirect", fine: false,
        message: "its answers do not name the issuer, and provider \(other.name) has the same "
          + "redirect path \(path): register \(own) at the provider, and set redirect = \"\(own)\"")
    ]
  }

  /// Returns one finding for each credential that the provider's configuration names: whether it is
  /// set and usable.
  private func credentials(_ provider: ProviderConfig) -> [ProviderCheck.Finding] {
    let names = provider.definition.credentialNames.filter { $0 != provider.credentialName }
    let others = names.map { credential($0, of: provider) }
    guard provider.credentialName == nil, !names.isEmpty else {
      return [credential(provider)] + others
    }
    return others
  }

  private func credential(_ name: String, of provider: ProviderConfig) -> ProviderCheck.Finding {
    let subject = "credential \(name)"
    do throws(UsherError) {
      let value = try credentials.credential(named: name)
      let check = CredentialCheck(nil, named: value.map { [name: $0] } ?? [:])
      let flaw = check.flaw(in: name, of: provider.name) {
        provider.definition.flaw(of: $0, named: name)
      }
      return .init(subject: subject, fine: flaw == nil, message: flaw ?? "it is set")
    } catch {
      return .init(subject: subject, fine: false, message: error.message)
    }
  }

  func credential(_ provider: ProviderConfig) -> ProviderCheck.Finding {
    do throws(UsherError) {
      guard let value = try credentials.credential(of: provider) else {
        return .init(
          subject: "credential", fine: true,
          message: provider.definition.oauthClient.assertionFile == nil
            ? "a public client needs none" : "the client's assertion is in a file")
      }
      let name = provider.credentialName ?? ""
      if let flaw = provider.definition.flaw(of: value, named: name) {
        return .init(subject: "credential", fine: false, message: "it \(flaw)")
      }
      guard provider.definition.oauthClient.auth.usesCertificate,
        let certificate = try? ClientCertificate(pem: value, named: name, of: provider.name)
      else { return .init(subject: "credential", fine: true, message: "it is set") }
      let now = clock.now()
      return .init(
        subject: "credential", fine: certificate.flaw(at: now) == nil,
        message: certificate.flaw(at: now) ?? certificate.summary(at: now))
    } catch {
      return .init(subject: "credential", fine: false, message: error.message)
    }
  }

  /// Compares the provider's `Date` header (RFC 9110 §6.6.1) with the local clock.
  private func clock(_ outcome: CallOutcome, allowed: Int) -> ProviderCheck.Finding {
    guard case .reply(let reply) = outcome,
      let serverTime = reply.headers["date"].flatMap(Timestamp.init(httpDate:))
    else {
      return .init(
        subject: "clock", fine: true, message: "the provider's answer has no Date header")
    }
    // The header has whole seconds, and the response took some time to arrive.
    let skew = Int(abs((serverTime - clock.now()).milliseconds) / 1000)
    return .init(
      subject: "clock", fine: skew <= allowed + 1,
      message: skew <= 1
        ? "it agrees with the local clock"
        : "it differs from the local clock by \(skew) s; \(allowed) s are allowed")
  }
}
