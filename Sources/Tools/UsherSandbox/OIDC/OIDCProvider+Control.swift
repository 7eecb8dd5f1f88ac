extension OIDCBackend: ConfigurableBackend {
  func apply(_ settings: OIDCBackendSettings) {
    self.settings = settings
    ledger.tokens.terms = settings.terms
    ledger.deviceTerms = settings.deviceTerms
    context.clock.offset = settings.clockOffsetSeconds
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
