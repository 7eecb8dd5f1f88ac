extension OIDCService {
  static let all = [google, microsoft, gitLab, codeberg, huggingFace]

  /// The settings that all services share: none of them names its issuer in redirects,
  /// and an ID token from the token endpoint has no hash of the code.
  private static func settings(
    accessTokenSeconds: Int, refreshTokenSeconds: Int, codeSeconds: Int = 600,
    rotation: TokenTerms.Rotation, methods: [String], discovery: [String: JSON] = [:],
    claims: [String: JSON] = [:], tokenReply: [String: JSON] = [:]
  ) -> OIDCBackendSettings {
    var settings = OIDCBackendSettings()
    settings.accessTokenSeconds = accessTokenSeconds
    settings.idTokenSeconds = accessTokenSeconds
    settings.refreshTokenSeconds = refreshTokenSeconds
    settings.codeSeconds = codeSeconds
    settings.refreshRotation = rotation
    settings.clientAuthMethods = methods
    settings.discoveryDocuments = .openid
    settings.authorizeResponse = ["iss": .null]
    settings.discovery = discovery.merging([
      "id_token_signing_alg_values_supported": ["RS256"]
    ]) { own, _ in own }
    settings.idToken.claims = claims.merging(["c_hash": .null]) { own, _ in own }
    settings.tokenReply = tokenReply
    return settings
  }

  private static let secretMethods = ["client_secret_basic", "client_secret_post"]
  private static let day = 86_400

  /// The refresh token does not expire and is not replaced.
  static let google = OIDCService(
    name: "google", title: "Google", path: "/google",
    client: Client(id: "usher-google", name: "usherd with Google", secret: "s3cret-google"),
    settings: settings(
      accessTokenSeconds: 3599, refreshTokenSeconds: 180 * day, rotation: .off,
      methods: ["none"] + secretMethods,
      discovery: [
        "scopes_supported": ["openid", "email", "profile"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        "code_challenge_methods_supported": ["plain", "S256"],
      ],
      claims: ["auth_time": .null]),
    endpoints: requiredEndpoints.union(["revocation", "device", "device_page"]),
    metadata: requiredMetadata.union([
      "device_authorization_endpoint", "revocation_endpoint", "grant_types_supported",
      "token_endpoint_auth_methods_supported", "code_challenge_methods_supported",
    ]),
    refreshTokens: .withNewConsent,
    scopes: [
      "openid", "email", "profile", googleEmail, googleProfile,
      "https://www.googleapis.com/auth/drive.file",
    ],
    showsRefusals: true,
    grantedNames: ["email": googleEmail, "profile": googleProfile],
    revocation: .openWholeGrant,
    errors: [
      Refusal(
        replaced: "invalid_grant", error: "invalid_grant",
        description: "Token has been expired or revoked."),
      Refusal(
        replaced: "invalid_client", cause: "this client must authenticate",
        error: "invalid_request", description: "client_secret is missing.", status: 400),
      Refusal(replaced: "invalid_client", error: "invalid_client", description: "Unauthorized"),
    ])

  private static let googleEmail = "https://www.googleapis.com/auth/userinfo.email"
  private static let googleProfile = "https://www.googleapis.com/auth/userinfo.profile"

  private static let directory = "8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11"

  /// A public client, whose refresh tokens stay valid for ninety days although each refresh returns
  /// a new one.
  static let microsoft = OIDCService(
    name: "microsoft", title: "Microsoft Entra", path: "/microsoft/\(directory)/v2.0",
    client: Client(
      id: "usher-microsoft", name: "usherd with Microsoft Entra",
      redirectURIs: ["http://localhost/callback"]),
    settings: settings(
      accessTokenSeconds: 3599, refreshTokenSeconds: 90 * day, rotation: .additional,
      methods: ["none"],
      discovery: [
        "scopes_supported": ["openid", "profile", "email", "offline_access"],
        "subject_types_supported": ["pairwise"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "token_endpoint_auth_methods_supported": [
          "client_secret_post", "private_key_jwt", "client_secret_basic",
        ],
      ],
      claims: [
        "at_hash": .null, "auth_time": .null, "tid": .string(directory), "ver": "2.0",
      ],
      tokenReply: ["ext_expires_in": 3599]),
    endpoints: requiredEndpoints.union(["device", "device_page", "logout"]),
    metadata: requiredMetadata.union([
      "device_authorization_endpoint", "end_session_endpoint", "response_modes_supported",
      "token_endpoint_auth_methods_supported", "request_uri_parameter_supported",
    ]),
    refreshTokens: .withScope("offline_access"),
    grantedNames: ["offline_access": ""],
    errors: [
      Refusal(
        replaced: "invalid_grant", error: "invalid_grant",
        description: "AADSTS50173: The provided grant has expired due to it being revoked, a fresh "
          + "auth token is needed.",
        more: ["error_codes": [50173], "suberror": "bad_token"])
    ],
    directoriesPath: "/microsoft/common/v2.0")

  static let gitLab = OIDCService(
    name: "gitlab", title: "GitLab", path: "/gitlab",
    client: Client(id: "usher-gitlab", name: "usherd with GitLab", secret: "s3cret-gitlab"),
    settings: settings(
      accessTokenSeconds: 7200, refreshTokenSeconds: 10_000 * day, rotation: .strict,
      methods: secretMethods,
      discovery: [
        "scopes_supported": [
          "api", "read_api", "read_user", "read_repository", "write_repository", "openid",
          "profile", "email",
        ],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "grant_types_supported": [
          "authorization_code", "password", "client_credentials", "refresh_token",
        ],
        "code_challenge_methods_supported": ["plain", "S256"],
      ],
      claims: ["at_hash": .null]),
    endpoints: requiredEndpoints.union(["revocation", "introspection", "device", "device_page"]),
    metadata: requiredMetadata.union([
      "revocation_endpoint", "introspection_endpoint", "response_modes_supported",
      "grant_types_supported", "token_endpoint_auth_methods_supported",
      "code_challenge_methods_supported",
    ]),
    refreshTokens: .always,
    scopes: [
      "api", "read_api", "read_user", "read_repository", "write_repository", "openid", "profile",
      "email",
    ],
    namesCreation: true, refreshEndsAccessTokens: true, revocation: .wholeGrant,
    errors: [
      Refusal(
        replaced: "invalid_grant", error: "invalid_grant",
        description: "The provided authorization grant is invalid, expired, revoked, does not "
          + "match the redirection URI used in the authorization request, or was issued to "
          + "another client."),
      Refusal(
        replaced: "invalid_client", error: "invalid_client",
        description: "Client authentication failed due to unknown client, no client "
          + "authentication included, or unsupported authentication method."),
    ])

  static let codeberg = OIDCService(
    name: "codeberg", title: "Codeberg (Forgejo)", path: "/codeberg",
    client: Client(id: "usher-codeberg", name: "usherd with Codeberg", secret: "s3cret-codeberg"),
    settings: settings(
      accessTokenSeconds: 3600, refreshTokenSeconds: 730 * 3600, rotation: .strict,
      methods: secretMethods,
      discovery: [
        "scopes_supported": ["openid", "profile", "email", "groups"],
        "grant_types_supported": [
          "authorization_code", "urn:ietf:params:oauth:grant-type:device_code", "refresh_token",
        ],
        "code_challenge_methods_supported": ["plain", "S256"],
      ],
      claims: ["at_hash": .null, "auth_time": .null],
      tokenReply: ["token_type": "bearer", "scope": .null]),
    endpoints: requiredEndpoints.union(["introspection", "device", "device_page"]),
    metadata: requiredMetadata.union([
      "introspection_endpoint", "device_authorization_endpoint", "grant_types_supported",
      "code_challenge_methods_supported",
    ]),
    refreshTokens: .always,
    newGrantReplacesRefreshTokens: true,
    errors: [
      Refusal(
        replaced: "invalid_grant", cause: "the grant is revoked", error: "invalid_grant",
        description: "grant does not exist"),
      Refusal(
        replaced: "invalid_grant", error: "unauthorized_client",
        description: "token was already used"),
      Refusal(
        replaced: "invalid_client", error: "invalid_client", description: "invalid client secret",
        status: 400),
    ])

  static let huggingFace = OIDCService(
    name: "huggingface", title: "Hugging Face", path: "/huggingface",
    client: Client(id: "usher-huggingface", name: "usherd with Hugging Face"),
    settings: settings(
      accessTokenSeconds: 28_800, refreshTokenSeconds: 30 * day, rotation: .strict,
      methods: ["none", "client_secret_basic"],
      discovery: [
        "scopes_supported": [
          "openid", "profile", "email", "read-repos", "write-repos", "inference-api",
        ]
      ],
      tokenReply: ["token_type": "bearer"]),
    endpoints: requiredEndpoints.union(["device", "device_page"]),
    metadata: requiredMetadata.union(["device_authorization_endpoint"]),
    refreshTokens: .forDevices)
}
