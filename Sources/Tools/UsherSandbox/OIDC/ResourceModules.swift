extension ConformanceModule {
  private static let scope: JSON = "mcp:basic"
  private static let scopesOfResource: [String: JSON] = [
    "resourceMetadata": ["scopes_supported": ["mcp:basic", "mcp:read"]]
  ]

  /// The client id of the suite's module about documents of clients, and the document, which the
  /// suite does not fetch.
  private static let documented = "https://conformance-test.local/client-metadata.json"
  private static let document: JSON = [
    "client_id": .string(documented), "client_name": "conformance test",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
    "token_endpoint_auth_method": "none",
  ]

  /// The modules about authorization of the MCP client conformance suite in which a client is sent
  /// to the provider by a protected resource (RFC 9728), and those that need a client of their own.
  static let mcp: [ConformanceModule] = [
    .init("auth/metadata-default", ["discoveryDocuments": "oauth"], during: .resource),
    .init(
      "auth/metadata-var1", ["discoveryDocuments": "openid", "challengeNamesMetadata": false],
      during: .resource),
    .init(
      "auth/metadata-var2",
      [
        "discoveryDocuments": "oauth", "challengeNamesMetadata": false,
        "resourceMetadataPlace": "root",
      ], during: .resource),
    .init(
      "auth/metadata-var3", ["discoveryDocuments": "openid", "resourceMetadataPlace": "custom"],
      during: .resource),
    .init(
      "auth/scope-from-www-authenticate",
      ["resourceScope": scope].merging(scopesOfResource) { $1 }, during: .resource),
    .init(
      "auth/scope-from-scopes-supported",
      ["resourceScope": scope, "challengeHasScope": false].merging(scopesOfResource) { $1 },
      during: .resource),
    .init("auth/scope-omitted-when-undefined", during: .resource),
    .init(
      "auth/resource-mismatch",
      ["resourceMetadata": ["resource": "https://evil.example/mcp"]], during: .resource,
      refusedBy: "https://evil.example/mcp"),
    .init(
      "auth/authorization-server-migration",
      ["resourceMetadata": ["authorization_servers": ["https://new-server.example"]]],
      during: .resource, refusedBy: "https://new-server.example"),
    // The specification demands this, and no module of the suite tests it.
    .init(
      "pkce-no-s256-support", ["discovery": ["code_challenge_methods_supported": []]],
      during: .resource, refusedBy: "S256"),
    .init("auth/iss-supported", during: .resource),
    .init(
      "auth/iss-not-advertised",
      [
        "discovery": ["authorization_response_iss_parameter_supported": .null],
        "authorizeResponse": ["iss": .null],
      ], during: .resource),
    .init(
      "auth/iss-supported-missing", ["authorizeResponse": ["iss": .null]], during: .resource,
      refusedBy: "does not say which issuer"),
    .init(
      "auth/iss-wrong-issuer", ["authorizeResponse": ["iss": "https://evil.example.com"]],
      during: .resource, refusedBy: "another issuer"),
    .init(
      "auth/iss-unexpected",
      [
        "discovery": ["authorization_response_iss_parameter_supported": .null],
        "authorizeResponse": ["iss": "https://evil.example.com"],
      ], during: .resource, refusedBy: "another issuer"),
    .init(
      "auth/iss-normalized", ["responseIssuerSuffix": "/"], during: .resource,
      refusedBy: "another issuer"),
    .init(
      "auth/metadata-issuer-mismatch", ["discovery": ["issuer": "https://evil.example"]],
      during: .resource, refusedBy: "issuer"),
    .init(
      "auth/basic-cimd", ["clientDocuments": [documented: document]], during: .client),
    .init(
      "auth/wif-jwt-bearer",
      [
        "clientAuthMethods": ["none"], "workloads": ["conformance-workload": "usher"],
        "discovery": [
          "grant_types_supported": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
          "token_endpoint_auth_methods_supported": ["none"], "registration_endpoint": .null,
        ],
      ], during: .client),
    // A test names the audience, which is the address of the sandbox, in identityAssertionClients.
    .init(
      "auth/enterprise-managed-authorization",
      ["clientAuthMethods": ["client_secret_basic", "none"]],
      during: .client),
    .init("auth/offline-access-scope", scopesOfResource, during: .resource),
    .init(
      "auth/offline-access-not-supported",
      [
        "resourceScope": scope,
        "discovery": ["scopes_supported": ["openid", "mcp:basic", "mcp:read"]],
      ], during: .resource),
  ]
}
