import JSONRPC
import Testing
import UsherConfig
import UsherFlows

@Suite("Provider metadata")
struct MetadataTests {
  let document: JSONValue = [
    "issuer": "https://id.example.com",
    "authorization_endpoint": "https://id.example.com/authorize",
    "token_endpoint": "https://id.example.com/token", "jwks_uri": "https://id.example.com/jwks",
    "scopes_supported": 7, "unknown": ["x": 1],
    "id_token_signing_alg_values_supported": ["ES256", 5, "RS256"],
    "authorization_response_iss_parameter_supported": true,
  ]

  private func changed(_ changes: [String: JSONValue?]) -> JSONValue {
    var document = document
    for (name, value) in changes { document[name] = value }
    return document
  }

  @Test(
    "the well-known metadata URLs are built from the issuer's host and path",
    arguments: [
      ("https://a.b", "https://a.b", ""), ("https://a.b/", "https://a.b", ""),
      ("https://a.b:8443/x/y", "https://a.b:8443", "/x/y"), ("https://a.b/x/", "https://a.b", "/x"),
    ])
  func wellKnown(issuer: String, host: String, path: String) {
    #expect(
      OIDCMetadata.wellKnownURLs(issuer: issuer) == [
        host + path + "/.well-known/openid-configuration",
        host + "/.well-known/oauth-authorization-server" + path,
      ]
        + (path.isEmpty
          ? []
          : [
            host + "/.well-known/openid-configuration" + path,
            host + path + "/.well-known/oauth-authorization-server",
          ]))
  }

  @Test("two metadata documents of an OpenID provider are merged; the first wins where they differ")
  func merged() throws {
    let second: JSONValue = [
      "issuer": "https://id.example.com", "token_endpoint": "https://other.example.com/token",
      "revocation_endpoint": "https://id.example.com/revoke",
    ]
    var expected = OIDCMetadata(issuer: issuer)
    expected.authorizationEndpoint = issuer + "/authorize"
    expected.tokenEndpoint = issuer + "/token"
    expected.jwksURI = issuer + "/jwks"
    expected.revocationEndpoint = issuer + "/revoke"
    expected.idTokenAlgorithms = ["ES256", "RS256"]
    expected.namesIssuerInRedirect = true
    #expect(
      OIDCMetadata.read(documents: [document, second], settings: try settings())
        == .found(expected))
  }

  @Test(
    "a configured endpoint replaces the endpoint of the metadata, even if the latter is unusable")
  func overridden() throws {
    let settings = try settings {
      $0.endpoints.token = try? ProviderURL(setting: "http://[::1]:1/t")
    }
    let document = changed(["token_endpoint": "http://evil.example.com/token"])
    guard case .found(let metadata) = OIDCMetadata.read(documents: [document], settings: settings)
    else {
      Issue.record("the metadata is refused")
      return
    }
    #expect(metadata.tokenEndpoint == "http://[::1]:1/t")
    #expect(metadata.authorizationEndpoint == issuer + "/authorize")
  }

  @Test(
    "a metadata document that names another issuer is discarded",
    arguments: [
      "https://id.example.com/", "https://ID.example.com", "https://evil.example.com", "", 5, nil,
    ] as [JSONValue?])
  func otherIssuer(value: JSONValue?) throws {
    let wrong = changed(["issuer": value])
    let alone = OIDCMetadata.read(documents: [wrong], settings: try settings())
    #expect(isUnusable(alone))
    let beside = OIDCMetadata.read(documents: [wrong, document], settings: try settings())
    #expect(!isUnusable(beside))
  }

  @Test(
    "metadata with an unusable endpoint or without a required endpoint is unusable",
    arguments: [
      ("token_endpoint", "http://id.example.com/token"), ("token_endpoint", "/token"),
      ("token_endpoint", 5), ("token_endpoint", ""), ("token_endpoint", nil),
      ("authorization_endpoint", "javascript:alert(1)"),
      ("authorization_endpoint", "https://id.example.com/a#b"),
      ("authorization_endpoint", "https://u:p@id.example.com/a"),
      ("jwks_uri", "file:///etc/passwd"), ("jwks_uri", 7),
      ("userinfo_endpoint", "ftp://id.example.com"),
      ("revocation_endpoint", "http://127.0.0.1.evil.example.com/"),
      ("device_authorization_endpoint", "https://id.example.com/a b"),
    ] as [(String, JSONValue?)])
  func unusable(member: String, value: JSONValue?) throws {
    let read = OIDCMetadata.read(documents: [changed([member: value])], settings: try settings())
    #expect(isUnusable(read))
  }

  @Test("metadata documents may be missing if the configuration names all required endpoints")
  func noDocuments() throws {
    #expect(isUnusable(OIDCMetadata.read(documents: [], settings: try settings())))
    let all = try settings {
      $0.endpoints.token = try? ProviderURL(setting: "https://id.example.com/token")
      $0.endpoints.jwks = try? ProviderURL(setting: "https://id.example.com/jwks")
      $0.endpoints.authorization = try? ProviderURL(setting: "https://id.example.com/authorize")
    }
    #expect(OIDCMetadata.needsNoDocuments(all))
    var expected = OIDCMetadata(issuer: issuer)
    expected.authorizationEndpoint = issuer + "/authorize"
    expected.tokenEndpoint = issuer + "/token"
    expected.jwksURI = issuer + "/jwks"
    #expect(OIDCMetadata.read(documents: [], settings: all) == .found(expected))
    let wrong = OIDCMetadata.read(documents: [changed(["issuer": "https://x.y"])], settings: all)
    #expect(isUnusable(wrong))
  }

  @Test("optional metadata members of a wrong type are ignored")
  func lenient() throws {
    let document = changed([
      "token_endpoint_auth_methods_supported": "client_secret_post",
      "id_token_signing_alg_values_supported": 1,
      "authorization_response_iss_parameter_supported": "true",
    ])
    guard
      case .found(let metadata) = OIDCMetadata.read(documents: [document], settings: try settings())
    else {
      Issue.record("the metadata is refused")
      return
    }
    #expect(metadata.clientAuthMethods == nil)
    #expect(metadata.idTokenAlgorithms == nil)
    #expect(!metadata.namesIssuerInRedirect)
  }

  @Test("metadata that is not a JSON object with an issuer is unusable")
  func hostile() throws {
    for document in [nil, [], "x", 1, [:]] as [JSONValue] {
      #expect(isUnusable(OIDCMetadata.read(documents: [document], settings: try settings())))
    }
  }

  private func isUnusable(_ discovery: Discovery) -> Bool {
    if case .unusable = discovery { true } else { false }
  }
}
