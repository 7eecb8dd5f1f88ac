import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// Implementation of `provider.list`, `provider.get`, `provider.check` and `provider.jwks`.
struct ProviderService: Sendable {
  let configStore: ConfigStore
  let credentials: Credentials
  let http: ProviderHTTP
  let metadata: MetadataCache
  let verifier: IDTokenVerifier
  let clock: any Clock
  let entropy: any Entropy

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
      name: provider.name, type: provider.type,
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
  /// Returns the public key of the provider's client, and makes the key if the call says so.
  func jwks(_ call: ProviderJWKS) async throws(UsherError) -> ProviderJWKS.Reply {
    let provider = try configStore.provider(named: call.provider)
    guard let name = provider.credentialName else {
      throw UsherError(
        .invalidParams, "provider \(provider.name) has no client_credential, which names the key",
        field: "provider")
    }
    // Any other client sends its credential to the provider, which must not receive a private key.
    guard [.auto, .privateKeyJWT].contains(provider.definition.oauthClient.auth) else {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) authenticates its client by a secret: only type oidc with "
          + "client_auth \"private_key_jwt\" or \"auto\" uses a key", field: "provider")
    }
    let credential =
      call.create == true
      ? try await credentials.setIfMissing(name) { ClientKey.make { entropy.bytes($0) } }
      : try credentials.credential(named: name)
    guard let credential else {
      throw UsherError(
        .notFound,
        "credential \(name) is not set: usherctl provider jwks \(provider.name) --create makes a key"
      )
    }
    guard let key = ClientKey(pem: credential) else {
      throw UsherError(
        .invalidParams, "credential \(name) \(ClientKey.flaw)", field: "provider")
    }
    return .init(keys: [key.publicJWK])
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
      let flaw = provider.settings.flaw(of: metadata)
      findings.append(
        .init(
          subject: "discovery", fine: flaw == nil, message: flaw ?? "issuer \(metadata.issuer)"))
      findings.append(await keys(metadata, provider.config))
      findings += redirect(metadata, provider)
    case .unreachable(let message), .unusable(let message):
      findings.append(.init(subject: "discovery", fine: false, message: message))
    }
    let url = OIDCMetadata.wellKnownURLs(issuer: provider.settings.issuer.text)[0]
    let outcome = await http.send(OIDCCall.discovery(url: url), for: provider.config)
    return findings + [
      credential(provider.config), clock(outcome, allowed: provider.settings.clockSkewSeconds),
    ]
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

  private func keys(
    _ metadata: OIDCMetadata, _ provider: ProviderConfig
  ) async -> ProviderCheck.Finding {
    guard let url = metadata.jwksURI else {
      return .init(subject: "keys", fine: false, message: "the provider's metadata has no jwks_uri")
    }
    switch await verifier.keySet(at: url, of: provider) {
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
    let names = provider.definition.credentialNames
    guard provider.credentialName == nil, !names.isEmpty else { return [credential(provider)] }
    return names.map { credential($0, of: provider) }
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

  private func credential(_ provider: ProviderConfig) -> ProviderCheck.Finding {
    do throws(UsherError) {
      guard let value = try credentials.credential(of: provider) else {
        return .init(subject: "credential", fine: true, message: "a public client needs none")
      }
      let flaw = provider.definition.flaw(of: value, named: provider.credentialName ?? "")
      return .init(
        subject: "credential", fine: flaw == nil, message: flaw.map { "it \($0)" } ?? "it is set")
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
