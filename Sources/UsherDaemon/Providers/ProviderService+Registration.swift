import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Implementation of `provider.register` and `provider.unregister`.
extension ProviderService {
  /// Registers the daemon as a client of a provider (RFC 7591), or changes the registration (RFC
  /// 7592).
  ///
  /// A daemon that is killed between the provider's answer and the commit leaves a client at the
  /// provider that nobody uses.
  func register(_ call: ProviderRegister) async throws(UsherError) -> ProviderRegister.Reply {
    try await registrations.withLock(call.provider) { () throws(UsherError) in
      let provider = try openID(call.provider)
      let registration =
        call.update == true
        ? try await change(provider, call) : try await create(provider, call)
      return .init(registration)
    }
  }

  func unregister(_ call: ProviderUnregister) async throws(UsherError) -> Done {
    try await registrations.withLock(call.provider) { () throws(UsherError) in
      let provider = try openID(call.provider)
      let (_, management) = try managed(provider)
      let outcome = await http.send(RegistrationCall.delete(management), for: provider.config)
      guard case .reply(let reply) = outcome, reply.status == 204 || reply.status == 200 else {
        throw Self.failure(
          outcome, provider,
          "the provider did not delete the client; to forget it without asking "
            + "the provider, run: usherctl credential delete \(credentialName(provider))")
      }
      return try await credentials.delete(CredentialDelete(name: credentialName(provider)))
    }
  }

  func openID(_ name: ProviderName) throws(UsherError) -> Provider<OIDCSettings> {
    let config = try configStore.provider(named: name)
    guard config.settings is OIDCSettings, let provider = Provider<OIDCSettings>(config) else {
      throw UsherError(
        .invalidParams,
        "provider \(name) is of type \(config.type): only type oidc has registrations and client metadata",
        field: "provider")
    }
    return provider
  }

  private func credentialName(_ provider: Provider<OIDCSettings>) -> String {
    RegisteredClient.credentialName(of: provider.name)
  }
}

extension ProviderService {
  private func create(
    _ provider: Provider<OIDCSettings>, _ call: ProviderRegister
  ) async throws(UsherError) -> ClientRegistration {
    try checkNew(provider)
    let (metadata, request) = try await metadata(of: provider)
    guard let endpoint = metadata.registrationEndpoint else {
      throw UsherError(
        .invalidParams,
        "the metadata of provider \(provider.name) names no registration_endpoint: register usherd "
          + "at the provider yourself and set client_id, "
          + (metadata.supportsClientDocuments == true
            ? "or set it to the https URL at which you publish the client's metadata (usherctl "
              + "provider client-metadata \(provider.name)), " : "")
          + "or set registration in [provider.endpoints]", field: "provider")
    }
    let outcome = await http.send(
      RegistrationCall.register(
        request, endpoint: endpoint, token: call.initialAccessToken?.secret),
      for: provider.config)
    let reply = RegistrationReply(outcome, to: request, at: endpoint, of: provider)
    let registration = try Self.granted(
      reply, outcome, provider,
      hint: call.initialAccessToken == nil
        ? "the provider may demand an initial access token: --initial-access-token" : nil)
    do throws(UsherError) {
      try await credentials.setRegistration(registration, at: provider.name)
    } catch {
      // The client must not stay at the provider if its secrets are lost.
      if let management = registration.management {
        _ = await http.send(RegistrationCall.delete(management), for: provider.config)
      }
      throw error
    }
    return registration
  }

  private func change(
    _ provider: Provider<OIDCSettings>, _ call: ProviderRegister
  ) async throws(UsherError) -> ClientRegistration {
    guard call.initialAccessToken == nil else {
      throw UsherError(
        .invalidParams, "initialAccessToken goes without update", field: "initialAccessToken")
    }
    let (earlier, management) = try managed(provider)
    let (_, request) = try await metadata(of: provider)
    let outcome = await http.send(
      RegistrationCall.update(request, earlier, management), for: provider.config)
    let reply = RegistrationReply(
      outcome, to: request, at: management.uri, of: provider, replacing: earlier)
    let registration = try Self.granted(
      reply, outcome, provider,
      hint: "if the provider no longer knows the client, run: usherctl credential delete "
        + "\(credentialName(provider)), then usherctl provider register \(provider.name)")
    try await credentials.setRegistration(registration, at: provider.name)
    return registration
  }

  /// Throws if the provider has a client already.
  private func checkNew(_ provider: Provider<OIDCSettings>) throws(UsherError) {
    guard let earlier = credentials.registration(at: provider.name) else {
      guard provider.config.needsRegistration else {
        let hint =
          provider.settings.hasClientDocument
          ? ", or publish its metadata at that URL: usherctl provider client-metadata "
            + "\(provider.name)" : ""
        throw UsherError(
          .invalidParams,
          "provider \(provider.name) has a client_id in the configuration: remove it there first"
            + hint, field: "provider")
      }
      return
    }
    guard provider.config.needsRegistration else {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) has a client already; to change it: --update; to delete it: "
          + "--delete", field: "provider")
    }
    throw UsherError(
      .invalidParams,
      "usherd is registered under the name \(provider.name) at another issuer, "
        + "\(ProviderText.clean(earlier.issuer)); to forget that client, run: usherctl credential "
        + "delete \(credentialName(provider))", field: "provider")
  }

  /// Returns the registration of the provider's current client, and where it is changed.
  private func managed(
    _ provider: Provider<OIDCSettings>
  ) throws(UsherError) -> (ClientRegistration, ClientRegistration.Management) {
    let settings = provider.settings
    guard let registration = credentials.registration(at: provider.name),
      registration.issuer.hasSameBytes(as: settings.issuer.text),
      registration.clientID.hasSameBytes(as: settings.clientID)
    else {
      throw UsherError(
        .notFound,
        "usherd is not registered at provider \(provider.name); to register it, run: "
          + "usherctl provider register \(provider.name)", field: "provider")
    }
    guard let management = registration.management else {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) does not let clients change their registration; to forget it, "
          + "run: usherctl credential delete \(credentialName(provider))", field: "provider")
    }
    return (registration, management)
  }

  /// Returns the provider's metadata, and what the daemon registers there: what the configuration
  /// says, and not what an earlier registration has made of it.
  private func metadata(
    of provider: Provider<OIDCSettings>
  ) async throws(UsherError) -> (OIDCMetadata, ClientMetadata) {
    switch await metadata.discovery(of: provider.config) {
    case .found(let metadata):
      let written = configStore.current.writtenProvider(provider.name)
      let configured = written.flatMap { Provider<OIDCSettings>($0) } ?? provider
      return (metadata, try ClientMetadata(configured, metadata, key: key(of: configured)))
    case .unreachable(let message): throw UsherError(.providerUnreachable, message)
    case .unusable(let message): throw UsherError(.providerProtocolError, message)
    }
  }

  /// Returns the private key that the operator has chosen for the client; nil if there is none.
  private func key(of provider: Provider<OIDCSettings>) throws(UsherError) -> ClientKey? {
    guard let name = provider.settings.clientCredential,
      !RegisteredClient.isCredentialName(name), !provider.settings.clientAuth.usesCertificate
    else { return nil }
    guard let credential = try credentials.credential(named: name) else {
      throw UsherError(
        .invalidParams,
        "credential \(name) is not set: usherctl provider jwks \(provider.name) --create makes a "
          + "key; or remove client_credential, and the provider issues a secret", field: "provider")
    }
    guard let key = ClientKey(pem: credential) else {
      throw UsherError(
        .invalidParams,
        "credential \(name) is no private key: remove client_credential, and the provider issues a "
          + "secret", field: "provider")
    }
    if let flaw = provider.config.definition.flaw(of: credential, named: name) {
      throw UsherError(.invalidParams, "credential \(name) \(flaw)", field: "provider")
    }
    return key
  }
}

extension ProviderService {
  private static func granted(
    _ reply: RegistrationReply, _ outcome: CallOutcome, _ provider: Provider<OIDCSettings>,
    hint: String?
  ) throws(UsherError) -> ClientRegistration {
    switch reply {
    case .granted(let registration): return registration
    case .unreadable(let message):
      throw UsherError(
        .providerProtocolError,
        "\(message); the client that the provider may have registered is not used")
    case .dead(let code), .misconfigured(let code), .rejected(let code):
      let said = code.message.map { ": \($0)" } ?? ""
      let isUnauthorized = ["http_401", "http_403", "invalid_token"].contains(code.code)
      var error = UsherError(
        .providerRejected,
        "the provider refuses the registration (\(code.code)\(said))"
          + (isUnauthorized ? hint.map { "; \($0)" } ?? "" : ""))
      error.detail.provider = code
      throw error
    case .retry(let message, _): throw failure(outcome, provider, message)
    }
  }

  /// Returns the error for an outcome that leaves open what the provider has done.
  private static func failure(
    _ outcome: CallOutcome, _ provider: Provider<OIDCSettings>, _ message: String
  ) -> UsherError {
    switch outcome {
    case .reply(let reply) where reply.status < 500:
      UsherError(
        .providerRejected, "provider \(provider.name) answers HTTP \(reply.status): \(message)")
    case .reply(let reply):
      UsherError(
        .providerUnreachable,
        "provider \(provider.name) answers HTTP \(reply.status), so it is not known what it has "
          + "done: \(message)")
    case .unreachable(let cause, let sent):
      UsherError(
        .providerUnreachable,
        sent ? "\(cause), so it is not known what the provider has done: \(message)" : cause)
    case .unreadable(let cause), .noToken(let cause):
      UsherError(.providerProtocolError, "\(cause): \(message)")
    }
  }
}

extension ProviderRegister.Reply {
  fileprivate init(_ registration: ClientRegistration) {
    self.init(
      issuer: registration.issuer, clientID: registration.clientID,
      authMethod: registration.auth.registeredName, redirectURIs: registration.redirectURIs,
      secretExpiresAt: registration.secretExpiresAt,
      isManaged: registration.management != nil)
  }
}
