/// A realistic OpenID provider with discovery, code flow with PKCE, refresh token rotation, device
/// flow, userinfo, revocation and introspection.
///
/// By default it is as strict as the RFCs ask. Its settings make it misbehave.
package actor OIDCBackend: Backend {
  let context: BackendContext
  var clients: ClientRegistry
  /// The clients that have registered themselves, by their ids.
  var registrations: [String: Registration] = [:]
  /// The clients whose ids are addresses of documents.
  var documents: [String: DocumentedClient] = [:]
  let workloadIssuer = WorkloadIssuer()
  /// The clients of the grants that have names, by these names.
  var namedGrants: [String: String] = [:]
  nonisolated let path: String
  /// The well-known service as which this provider behaves; nil if it is the sandbox's own.
  nonisolated let service: OIDCService?
  var settings = OIDCBackendSettings()
  var ledger: Ledger
  var keys: SigningKeys

  /// - Parameter path: The issuer's path, like `/oidc`; may be empty.
  package init(_ context: BackendContext, clients: [Client] = Client.standard, path: String) throws
  {
    self.context = context
    self.clients = ClientRegistry(clients)
    self.path = path
    service = nil
    ledger = Ledger(tokenGenerator: context.tokenGenerator)
    keys = SigningKeys()
  }

  /// Creates a provider that behaves as a well-known service.
  init(_ context: BackendContext, as service: OIDCService) {
    self.context = context
    clients = ClientRegistry([service.client])
    path = service.path
    self.service = service
    settings = service.settings
    ledger = Ledger(
      tokenGenerator: context.tokenGenerator, terms: service.terms(service.settings))
    ledger.deviceTerms = service.settings.deviceTerms
    keys = SigningKeys()
  }

  nonisolated func issuer(_ call: EndpointCall) -> String { call.base + path }

  package nonisolated var title: String { service?.title ?? "OpenID provider" }

  package nonisolated var endpoints: [Endpoint] {
    service.map(endpoints(of:)) ?? ownEndpoints + registrationEndpoints + resourceEndpoints
  }

  /// The endpoints that a stand-in for a service may have, too.
  nonisolated var ownEndpoints: [Endpoint] {
    [
      Endpoint("discovery", .get, "\(path)/.well-known/openid-configuration", handle: discovery),
      Endpoint(
        "discovery", .get, "/.well-known/oauth-authorization-server\(path)",
        handle: oauthDiscovery),
      Endpoint("jwks", .get, "\(path)/jwks", handle: jwks),
      Endpoint("jwks", .get, "\(path)/.well-known/{client}/jwks.json", handle: jwksOfClient),
      Endpoint("authorize", .get, "\(path)/authorize", handle: authorize),
      Endpoint("authorize", .post, "\(path)/authorize", handle: authorize),
      Endpoint("login", .post, "\(path)/login", handle: login),
      Endpoint("consent", .post, "\(path)/consent", handle: consent),
      Endpoint("par", .post, "\(path)/par", handle: pushRequest),
      Endpoint("token", .post, "\(path)/token", handle: token),
      Endpoint("userinfo", .get, "\(path)/userinfo", handle: userinfo),
      Endpoint("userinfo", .post, "\(path)/userinfo", handle: userinfo),
      Endpoint("revocation", .post, "\(path)/revoke", handle: revoke),
      Endpoint("introspection", .post, "\(path)/introspect", handle: introspect),
      Endpoint("device", .post, "\(path)/device_authorization", handle: authorizeDevice),
      Endpoint("device_page", .get, "\(path)/device", handle: devicePage),
      Endpoint("backchannel", .post, "\(path)/bc-authorize", handle: authenticateUser),
      Endpoint("logout", .get, "\(path)/logout", handle: endSession),
      Endpoint("grants", .delete, "\(path)/grants/{id}", handle: deleteGrant),
    ]
  }

  private nonisolated var registrationEndpoints: [Endpoint] {
    let place = "\(path)/register/{id}"
    return [
      Endpoint("registration", .post, "\(path)/register", handle: register),
      Endpoint("registration", .get, place, handle: readRegistration),
      Endpoint("registration", .put, place, handle: updateRegistration),
      Endpoint("registration", .delete, place, handle: deleteRegistration),
    ]
  }

  private nonisolated var resourceEndpoints: [Endpoint] {
    let (resource, wellKnown) = (Self.resourcePath, Self.wellKnownResource)
    return [
      Endpoint("resource", .get, resource, handle: serveResource),
      Endpoint("resource", .post, resource, handle: serveResource),
      Endpoint("resource_metadata", .get, wellKnown, handle: resourceMetadata),
      Endpoint("resource_metadata", .get, wellKnown + resource, handle: resourceMetadata),
      Endpoint("resource_metadata", .get, Self.customResourceMetadata, handle: resourceMetadata),
    ]
  }

  package nonisolated var controls: [Endpoint] {
    if let service { return controls(of: service) }
    return [
      Endpoint("settings", .get, "/_control/settings", handle: readSettings),
      Endpoint("settings", .post, "/_control/settings", handle: changeSettings),
      Endpoint("settings", .delete, "/_control/settings", handle: resetSettings),
      Endpoint("registrations", .get, "/_control/registrations", handle: readRegistrations),
      Endpoint("module", .get, "/_control/modules", handle: readModules),
      Endpoint("module", .post, "/_control/module", handle: chooseModule),
      Endpoint("keys", .post, "/_control/keys/rotate", handle: rotateKeys),
      Endpoint("decision", .post, "/_control/backchannel", handle: decideForUser),
      Endpoint("revokeAll", .post, "/_control/revokeAll", handle: revokeAll),
      Endpoint("authority", .get, "/_control/authority", handle: readAuthority),
      Endpoint("certificate", .post, "/_control/certificate", handle: issueCertificate),
      Endpoint("assertion", .post, "/_control/assertion", handle: issueAssertion),
    ]
  }

  package nonisolated func links(base: String) -> [Link] {
    if let service { return links(of: service, base: base) }
    let issuer = base + path
    return [
      Link("Discovery document", "\(issuer)/.well-known/openid-configuration"),
      Link("JSON Web Key Set", "\(issuer)/jwks"),
      Link("Page for entering a device code", "\(issuer)/device"),
    ]
  }

  package nonisolated func configurationSample(base: String) -> String {
    if let service { return service.configurationSample(base: base) }
    return """
      [[provider]]
      name = "sandbox"
      type = "oidc"
      issuer = "\(base)\(path)"
      client_id = "usher"
      scopes = ["openid", "profile", "email", "offline_access"]
      redirect = "loopback"

      # Or the client with a secret. The secret is s3cret:with/odd+chars
      # client_id = "usher-confidential"
      # client_credential = "sandbox-secret"
      """
  }
}

/// Converts a handler's error into an OAuth error response.
nonisolated(nonsending) func respondingWithOAuthErrors(
  _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  do {
    return try await handle()
  } catch let refusal as OAuthError {
    return refusal.reply
  } catch {
    return .refusal("server_error", "the sandbox failed: \(error)", status: 500)
  }
}

extension EndpointCall {
  /// Parses the form in the body (RFC 6749 §3.2); throws a refusal that names the fault.
  func postedForm() throws(OAuthError) -> Form {
    guard contentType == "application/x-www-form-urlencoded" else {
      throw OAuthError(
        "invalid_request", "Content-Type must be application/x-www-form-urlencoded")
    }
    if let query = try? Form(parsing: query.utf8), query.has("client_secret") {
      throw OAuthError("invalid_request", "client_secret must not be in the URL")
    }
    return try Self.form(body)
  }

  /// Parses the form in the query.
  func queryForm() throws(OAuthError) -> Form { try Self.form(Array(query.utf8)) }

  private static func form(_ bytes: [UInt8]) throws(OAuthError) -> Form {
    let form: Form
    do {
      form = try Form(parsing: bytes)
    } catch {
      switch error {
      case .notUTF8: throw OAuthError("invalid_request", "the form is not UTF-8")
      case .tooManyFields: throw OAuthError("invalid_request", "more than \(Form.limit) fields")
      }
    }
    if let name = form.repeated.sorted().first {
      throw OAuthError("invalid_request", "\(name.printable) is present more than once")
    }
    return form
  }
}

extension String {
  /// The first 40 characters, as an `error_description` may contain them (RFC 6749 §5.2).
  var printable: String {
    String(prefix(40).map { $0.isASCII && $0 >= " " && $0 != "\"" && $0 != "\\" ? $0 : "?" })
  }
}
