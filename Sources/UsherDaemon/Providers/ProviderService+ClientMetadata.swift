import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// Implementation of `provider.clientMetadata`.
extension ProviderService {
  /// Returns the document for the address that the provider's client id is
  /// (draft-ietf-oauth-client-id-metadata-document §4).
  func clientMetadata(
    _ call: ProviderClientMetadata
  ) async throws(UsherError) -> ProviderClientMetadata.Reply {
    let provider = try openID(call.provider)
    let settings = provider.settings
    if let violation = ClientDocument.violation(settings.clientID) {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) has no client_id at which a document could be published: it "
          + violation, field: "provider")
    }
    // A registered client's own metadata is at the provider already.
    guard credentials.registration(at: provider.name)?.clientID != settings.clientID else {
      throw UsherError(
        .invalidParams,
        "usherd is registered at provider \(provider.name): it needs no document",
        field: "provider")
    }
    guard settings.clientAssertionFile == nil else {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) has client_assertion_file: a document would need the keys of the "
          + "assertion's issuer, which usherd does not have", field: "provider")
    }
    let signs = settings.clientCredential != nil
    var keys: [JSONValue] = []
    if signs { keys.append(try await signingKey(provider)) }
    if let name = settings.protection.decryptionCredential,
      let algorithm = settings.protection.encryptions.first
    {
      keys.append(
        try await decryptionKey(
          name, for: algorithm, of: provider.config, ProviderJWKS(provider: provider.name)))
    }
    switch await metadata.discovery(of: provider.config) {
    case .found(let metadata):
      let client = ClientMetadata(document: provider, metadata, signs: signs, keys: keys)
      return .init(document: .object(client.members))
    case .unreachable(let message): throw UsherError(.providerUnreachable, message)
    case .unusable(let message): throw UsherError(.providerProtocolError, message)
    }
  }

  /// Returns the public key by which the client authenticates itself. A document must not stand for
  /// a client with a shared secret, because the provider has no way to get it.
  private func signingKey(
    _ provider: Provider<OIDCSettings>
  ) async throws(UsherError) -> JSONValue {
    guard [.auto, .privateKeyJWT].contains(provider.settings.clientAuth) else {
      throw UsherError(
        .invalidParams,
        "provider \(provider.name) has client_auth "
          + "\"\(provider.settings.clientAuth.rawValue)\", but a client with a document has "
          + "private_key_jwt, or none without client_credential", field: "provider")
    }
    return try await clientKey(of: provider.config, ProviderJWKS(provider: provider.name))
  }
}

// What `provider.check` says about a client with a document.
extension ProviderService {
  /// Returns whether the provider reads the metadata at the client id; empty if that is no address
  /// of a document. A provider that does not announce it may know the client by a registration, so
  /// the token endpoint is asked.
  func clientDocument(
    _ provider: Provider<OIDCSettings>, _ metadata: OIDCMetadata
  ) async -> [ProviderCheck.Finding] {
    guard provider.settings.hasClientDocument, !provider.settings.clientAuth.usesCertificate,
      credential(provider.config).fine
    else { return [] }
    let probe = ProviderProbe(clientOf: provider, metadata)
    let (fine, message) = probe.evaluate(await http.send(probe.call, for: provider.config))
    let remedy =
      metadata.supportsClientDocuments == true
      ? "publish at \(provider.settings.clientID) what this prints: usherctl provider "
        + "client-metadata \(provider.name)"
      : "its metadata has no client_id_metadata_document_supported: register the client there, or "
        + "remove client_id and run: usherctl provider register \(provider.name)"
    return [
      .init(
        subject: "client metadata", fine: fine, message: fine ? message : "\(message); \(remedy)")
    ]
  }
}
