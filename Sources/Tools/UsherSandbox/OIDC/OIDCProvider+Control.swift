extension OIDCBackend: ConfigurableBackend {
  var defaultSettings: OIDCBackendSettings { service?.settings ?? OIDCBackendSettings() }

  func apply(_ settings: OIDCBackendSettings) {
    self.settings = settings
    ledger.tokens.terms = service?.terms(settings) ?? settings.terms
    ledger.deviceTerms = settings.deviceTerms
    // The clock is that of the whole sandbox.
    if service == nil { context.clock.offset = settings.clockOffsetSeconds }
    resolveClientDocuments()
  }

  /// Rotates the keys. `{"removeOld": true}` removes the old keys from the key set.
  func rotateKeys(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let body = call.body.isEmpty ? JSON.object([:]) : try? JSON(parsing: call.body)
      guard let body, case .object = body, case .bool(let removeOld) = body["removeOld"] ?? false
      else {
        throw OAuthError(
          "invalid_request", "the body must be empty or have removeOld: true or false")
      }
      keys.rotate(removingOld: removeOld)
      return .json(try keys.keySet())
    }
  }
}
