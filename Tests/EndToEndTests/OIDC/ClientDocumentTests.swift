import JSONRPC
import Testing
import UsherTestKit

/// Clients whose ids are addresses of documents with their metadata
/// (draft-ietf-oauth-client-id-metadata-document).
@Suite("Client ID metadata documents", .mayBlock, .timeLimit(.minutes(10)))
struct ClientDocumentTests {
  /// The address that the module of the suite expects.
  private static let ofSuite = "https://conformance-test.local/client-metadata.json"
  private static let publicURL = "https://client.example/usherd.json"
  private static let signingURL = "https://client.example/signing/usherd.json"
  private static let secretURL = "https://client.example/secret.json"

  let fixture: OIDCFixture
  let admin: RawClient

  init() throws {
    fixture = try OIDCFixture { sandbox in
      [
        ("suite", Self.ofSuite, ""), ("public", Self.publicURL, ""),
        ("signing", Self.signingURL, "client_credential = \"document-key\""),
        ("secret", Self.secretURL, "client_credential = \"shared-secret\""),
        (
          "basic", Self.secretURL,
          "client_credential = \"shared-secret\"\nclient_auth = \"basic\""
        ),
      ].map { name, clientID, more in
        """
        [[provider]]
        name = "\(name)"
        type = "oidc"
        issuer = "\(sandbox.issuer)"
        client_id = "\(clientID)"
        \(more)

        """
      }.joined()
    }
    admin = try fixture.daemon.admin()
  }

  /// Returns the document that usherctl prints for a provider.
  private func document(_ provider: String) throws -> JSONValue {
    let (status, output, errors) = try fixture.daemon.usherctl([
      "provider", "client-metadata", provider,
    ])
    #expect(status == 0, "\(errors)")
    return try JSONValue(parsing: Array(output.utf8))
  }

  private func publish(_ documents: [String: JSONValue]) throws {
    try fixture.set(["clientDocuments": .object(documents)])
  }

  /// Signs in, refreshes and revokes: three requests of the client.
  private func useClient(_ provider: String) throws {
    let account = try fixture.app.signIn(provider)["result"]?["account"] ?? .null
    _ = try fixture.token(["account": account, "forceRefresh": true])
    let reply = try fixture.app.call("account.forget", ["account": account])
    #expect(reply["revoked"] == "done")
  }

  private func finding(_ provider: String) throws -> JSONValue? {
    let findings = try admin.call("provider.check", ["provider": .string(provider)])["findings"]
    return findings?.arrayValue?.first { $0["subject"] == "client metadata" }
  }

  @Test("a client whose id is a URL signs in without a registration (auth/basic-cimd)")
  func suite() throws {
    try fixture.sandbox.control("POST", "module", ["name": "auth/basic-cimd"])
    try useClient("suite")
    #expect(try fixture.requests("registration") == 0)
    let seen = try fixture.sandbox.control("GET", "requests?endpoint=token")["requests"]
    let ids = seen?.arrayValue?.map { $0["clientID"] }
    #expect(ids == [.string(Self.ofSuite), .string(Self.ofSuite)])
  }

  @Test("a public client works with the document that usherctl prints, which has no secret")
  func publicClient() throws {
    let document = try document("public")
    #expect(document["client_id"]?.stringValue == Self.publicURL)
    #expect(document["client_name"] == "usherd" && document["jwks"] == nil)
    #expect(document["redirect_uris"] == ["http://127.0.0.1/callback"])
    #expect(document["response_types"] == ["code"])
    #expect(document["grant_types"]?.arrayValue?.contains("refresh_token") == true)
    #expect(document["token_endpoint_auth_method"] == "none")
    try publish([Self.publicURL: document])
    try useClient("public")
  }

  @Test("a client with a key works with the document, which has the public part of the key")
  func signingClient() throws {
    let missing = try admin.error(of: "provider.clientMetadata", ["provider": "signing"])
    #expect(missing.data["reason"] == "not_found")
    #expect(missing["message"]?.stringValue?.contains("jwks signing --create") == true)
    let keys = try admin.call("provider.jwks", ["provider": "signing", "create": true])
    let document = try document("signing")
    #expect(document["token_endpoint_auth_method"] == "private_key_jwt")
    #expect(document["jwks"] == keys && document["jwks"]?["keys"]?[0]?["d"] == nil)
    try publish([Self.signingURL: document])
    try useClient("signing")
    // The key of another document does not authenticate this client.
    guard case .object(var members) = document else { throw TestError("no object: \(document)") }
    members["jwks"] = ["keys": []]
    try publish([Self.signingURL: .object(members)])
    let flow = try fixture.app.startFlow("signing")
    try Person.signIn(at: flow.url)
    let end = try fixture.app.finished(flow)
    #expect(end.failure["provider"]?["code"] == "invalid_client", "\(end.text)")
  }

  @Test(
    "the provider refuses a document that is of another address or has a shared secret",
    arguments: [
      (["client_id": "https://client.example/other.json"], "client_id"),
      (["client_secret": "s"], "client_secret"),
      (["client_secret_expires_at": 0], "client_secret_expires_at"),
      (["token_endpoint_auth_method": "client_secret_basic"], "client_secret_basic"),
      (["redirect_uris": []], "redirect_uris"),
    ] as [(JSONValue, String)])
  func badDocument(change: JSONValue, fault: String) throws {
    let document = try document("public").objectValue ?? [:]
    let changed = document.merging(change.objectValue ?? [:]) { $1 }
    try publish([Self.publicURL: .object(changed)])
    let flow = try fixture.app.startFlow("public")
    let page = try Web.send("GET", flow.url)
    #expect(page.status == 401 && page.text.contains(fault), "\(page.text)")
  }

  @Test("provider.check says whether the provider reads the document, and what to do")
  func check() throws {
    let unpublished = try finding("public")
    #expect(unpublished?["fine"] == false)
    let message = unpublished?["message"]?.stringValue ?? ""
    #expect(message.contains("client-metadata public") && message.contains(Self.publicURL))
    try publish([Self.publicURL: document("public")])
    #expect(try finding("public")?["fine"] == true)
    try fixture.set([
      "clientDocuments": [:],
      "discovery": ["client_id_metadata_document_supported": nil],
    ])
    let unsupported = try finding("public")?["message"]?.stringValue ?? ""
    #expect(unsupported.contains("client_id_metadata_document_supported"), "\(unsupported)")
    #expect(try finding("demo") == nil)
  }

  @Test(
    "there is no document for a client with another id, with a secret, or of another type",
    arguments: [
      ("demo", "https"), ("secret", "shared-secret"), ("basic", "client_auth"),
      ("local", "type local"),
    ])
  func noDocument(provider: String, fault: String) throws {
    let secret = "s3cret:with/odd+chars"
    _ = try admin.call("credential.set", ["name": "shared-secret", "value": .string(secret)])
    let error = try admin.error(
      of: "provider.clientMetadata", ["provider": .string(provider)])
    #expect(error.data["reason"] == "invalid_params", "\(error.text)")
    #expect(error["message"]?.stringValue?.contains(fault) == true, "\(error.text)")
    #expect(!error.hasSecret)
    #expect(
      try fixture.app.reason(of: "provider.clientMetadata", ["provider": "public"])
        == "method_not_found")
  }

  @Test("a registration is refused for a client with a document, and names the document")
  func registration() throws {
    let error = try admin.error(of: "provider.register", ["provider": "public"])
    #expect(error["message"]?.stringValue?.contains("client-metadata public") == true)
  }
}
