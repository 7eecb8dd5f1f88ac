/// A document at the address that a client id is
/// (draft-ietf-oauth-client-id-metadata-document). The sandbox fetches nothing: the setting
/// `clientDocuments` has the documents, by their addresses.
struct DocumentedClient: Sendable {
  let client: Client
  /// The method of OIDC Core §9 by which the client must authenticate itself.
  let method: String
  /// The key set (JWKS); nil if there is none.
  let keys: JSON?

  /// The most bytes of a document that are read.
  private static let limit = 5 * 1024

  /// Whether a client id is the address of a document.
  static func isAddress(_ clientID: String) -> Bool {
    guard clientID.hasPrefix("https://"), !clientID.contains("#") else { return false }
    let parts = clientID.dropFirst("https://".count)
      .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].contains("@"), !parts[1].isEmpty else { return false }
    return !parts[1].split(separator: "/").contains { $0 == "." || $0 == ".." }
  }

  /// Reads a document.
  ///
  /// - Throws: Why it describes no client: another `client_id` than its address, a shared secret or
  ///   a method that needs one, or a missing member.
  init(_ document: JSON?, at address: String) throws(OAuthError) {
    guard case .object(let members)? = document else {
      throw .client("no document of a client is at \(address)")
    }
    guard JSON.object(members).encoded().count <= Self.limit else {
      throw .client("the document of the client has more than \(Self.limit) bytes")
    }
    guard members["client_id"] == .string(address) else {
      throw .client("the client_id in the document is not the document's address")
    }
    if let name = ["client_secret", "client_secret_expires_at"].first(where: {
      members[$0] != nil
    }) {
      throw .client("the document of the client must not have \(name)")
    }
    let method = members["token_endpoint_auth_method"]?.text ?? "client_secret_basic"
    guard ["none", "private_key_jwt"].contains(method) else {
      throw .client("the document of the client must not have the method \(method)")
    }
    guard case .array(let uris)? = members["redirect_uris"], !uris.isEmpty else {
      throw .client("the document of the client has no redirect_uris")
    }
    keys = members["jwks"]
    guard method == "none" || keys != nil else {
      throw .client("the document of the client has no jwks")
    }
    self.method = method
    client = Client(
      id: address, name: members["client_name"]?.text ?? address,
      redirectURIs: uris.compactMap(\.text))
  }
}

extension OIDCBackend {
  /// Makes the clients of the setting `clientDocuments` those of the backend. A document with a
  /// fault is read again when its client appears, so that the refusal names the fault.
  func resolveClientDocuments() {
    for id in documents.keys { clients.remove(id) }
    documents = [:]
    for (address, document) in settings.clientDocuments {
      guard let document = try? DocumentedClient(document, at: address) else { continue }
      documents[address] = document
      clients.set(document.client)
    }
  }

  /// The key set of a client; nil if there is none.
  func keySet(of clientID: String) -> JSON? {
    settings.clientKeys[clientID] ?? registrations[clientID]?.keys ?? documents[clientID]?.keys
  }

  /// Throws why a client whose id is an address has no usable document there.
  func checkDocument(of clientID: String?) throws(OAuthError) {
    guard let clientID, DocumentedClient.isAddress(clientID), documents[clientID] == nil else {
      return
    }
    _ = try DocumentedClient(settings.clientDocuments[clientID], at: clientID)
  }

  /// Checks that a client with a document uses the method that the document names.
  func checkDocument(of clientID: String, method: String) throws(OAuthError) {
    guard let document = documents[clientID], document.method != method else { return }
    throw .client("the document of the client names another method than \(method)")
  }
}
