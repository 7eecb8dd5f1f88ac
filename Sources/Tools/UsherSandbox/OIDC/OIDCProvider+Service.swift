import FoundationEssentials

/// The stand-ins for well-known services.
extension OIDCBackend {
  nonisolated func endpoints(of service: OIDCService) -> [Endpoint] {
    let endpoints = ownEndpoints.filter { service.endpoints.contains($0.name) }
      .map { endpoint in
        var endpoint = endpoint
        switch endpoint.name {
        case "token": endpoint.handle = { await self.token($0, of: service) }
        case "revocation": endpoint.handle = { await self.revoke($0, at: service) }
        default: break
        }
        endpoint.name = "\(service.name)_\(endpoint.name)"
        return endpoint
      }
    let template = service.directoriesPath.map { path in
      Endpoint(
        "\(service.name)_discovery", .get, "\(path)/.well-known/openid-configuration",
        handle: directoriesDiscovery)
    }
    return endpoints + [template].compactMap(\.self)
  }

  nonisolated func controls(of service: OIDCService) -> [Endpoint] {
    let path = "/_control/\(service.name)"
    let settings = "\(service.name)_settings"
    return [
      Endpoint(settings, .get, "\(path)/settings", handle: readSettings),
      Endpoint(settings, .post, "\(path)/settings", handle: changeSettings),
      Endpoint(settings, .delete, "\(path)/settings", handle: resetSettings),
      Endpoint("\(service.name)_revokeAll", .post, "\(path)/revokeAll", handle: revokeAll),
    ]
  }

  nonisolated func links(of service: OIDCService, base: String) -> [Link] {
    [Link("Discovery document", "\(base)\(path)/.well-known/openid-configuration")]
  }

  /// Returns the metadata for all directories, whose issuer is a template, as at Microsoft Entra.
  func directoriesDiscovery(_ call: EndpointCall) async -> Reply {
    let directory = path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    var document = metadata(issuer: issuer(call))
    document["issuer"] = .string(issuer(call).replacing(directory, with: "{tenantid}"))
    return .json(.object(document))
  }

  /// Handles the token endpoint, with the service's names and errors in the response.
  func token(_ call: EndpointCall, of service: OIDCService) async -> Reply {
    let reply = await token(call)
    guard case .object(var members)? = try? JSON(parsing: reply.body) else { return reply }
    guard let error = reply.error else {
      if let scope = members["scope"]?.text {
        let names = scope.split(separator: " ").map {
          service.grantedNames[String($0)] ?? String($0)
        }
        members["scope"] = .string(names.filter { !$0.isEmpty }.joined(separator: " "))
      }
      if service.namesCreation {
        members["created_at"] = .integer(Int(context.clock.now().timeIntervalSince1970))
      }
      return .json(.object(members))
    }
    let cause = members["error_description"]?.text
    guard
      let refusal = service.errors.first(where: {
        $0.replaced == error && ($0.cause == nil || $0.cause == cause)
      })
    else { return reply }
    members = refusal.more
    members["error"] = .string(refusal.error)
    members["error_description"] = .string(refusal.description)
    return .json(.object(members), status: refusal.status ?? reply.status, error: refusal.error)
  }

  /// Handles the revocation endpoint.
  func revoke(_ call: EndpointCall, at service: OIDCService) async -> Reply {
    guard service.revocation != .standard else { return await revoke(call) }
    return await respondingWithOAuthErrors {
      let form = try call.postedForm()
      let token = try form.required("token")
      let isOpen = service.revocation == .openWholeGrant
      if !isOpen { _ = try await authenticate(call, form) }
      let wasValid = ledger.tokens.revokeGrant(ofToken: token, now: context.clock.now())
      guard wasValid || !isOpen else {
        throw OAuthError("invalid_token", "Token expired or revoked")
      }
      return .json([:])
    }
  }
}
