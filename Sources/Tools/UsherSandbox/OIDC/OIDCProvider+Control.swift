extension OIDCBackend {
  func readSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try JSON(encoding: settings)) }
  }

  func changeSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      apply(try settings.changed(by: try call.settingChanges()))
      return .json(try JSON(encoding: settings))
    }
  }

  func resetSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      apply(OIDCBackendSettings())
      return .json(try JSON(encoding: settings))
    }
  }

  func apply(_ settings: OIDCBackendSettings) {
    ledger.settings = settings
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

  func revokeAll(_ call: EndpointCall) async -> Reply {
    ledger.tokens.revokeAll()
    return .json(["ok": true])
  }
}
