import FoundationEssentials

extension TruecallerBackend {
  func readSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try JSON(encoding: settings)) }
  }

  func changeSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      ledger.settings = try settings.changed(by: try call.settingChanges())
      return .json(try JSON(encoding: settings))
    }
  }

  func resetSettings(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      ledger.settings = TruecallerBackendSettings()
      return .json(try JSON(encoding: settings))
    }
  }

  func listVerifications(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json([
      "verifications": .array(ledger.verifications.values.map { $0.json(settings, now) })
    ])
  }

  func listTokens(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    let tokens = ledger.grants.listing.map { entry in
      entry.value.json(issued: entry.issued, expires: entry.expires, now)
    }
    return .json(["tokens": .array(tokens)])
  }

  func revokeAll(_ call: EndpointCall) async -> Reply {
    ledger.revokeAll()
    return .json(["ok": true])
  }

  func listInstallations(_ call: EndpointCall) async -> Reply {
    let installations = ledger.installations.listing.map { entry -> JSON in
      [
        "deviceId": .string(entry.key), "requests": .integer(entry.value.requests),
        "phoneNumbers": .array(entry.value.numbers.map { .string($0) }),
      ]
    }
    return .json(["installations": .array(installations)])
  }

  func listVerified(_ call: EndpointCall) async -> Reply { verified(status: 200) }

  func addVerified(_ call: EndpointCall) async -> Reply {
    await respondingToControl {
      var body = try call.objectInBody()
      let number = try body.number()
      let deviceID = try body.text("deviceId")
      guard deviceID.map({ UUID(uuidString: $0) != nil }) ?? true else {
        throw body.invalid("deviceId", "is not a UUID")
      }
      try body.finish()
      ledger.remember(number, deviceID: deviceID, now: context.clock.now())
      return verified(status: 201)
    }
  }

  func forgetVerified(_ call: EndpointCall) async -> Reply {
    ledger.forgetKnown()
    return .json(["ok": true])
  }

  private func verified(status: Int) -> Reply {
    .json(["verified": .array(ledger.known.values.map(\.json))], status: status)
  }

  func forgetCounts(_ call: EndpointCall) async -> Reply {
    ledger.forgetCounts()
    return .json(["ok": true])
  }

  func readProfile(_ call: EndpointCall) async -> Reply {
    await respondingToControl {
      let query = try call.queryForm()
      let number = try TruecallerNumber(
        country: query["countryCode"] ?? "", national: query["phoneNumber"] ?? "",
        countryMember: "countryCode")
      return .json(.object(try profileMembers(of: number, context.clock.now())))
    }
  }

  func changeProfile(_ call: EndpointCall) async -> Reply {
    await respondingToControl {
      var body = try call.objectInBody()
      let number = try body.number()
      guard case .object(let changes)? = body.remove("profile") else {
        throw body.invalid("profile", "is missing or not a JSON object")
      }
      try body.finish()
      let now = context.clock.now()
      let profile = try ledger.profile(of: number, now: now).changed(by: changes)
      ledger.set(profile, of: number, now: now)
      return .json(.object(try profileMembers(of: number, now)))
    }
  }

  func sign(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard case .object(let payload)? = try? JSON(parsing: call.body) else {
        throw OAuthError("invalid_request", "the body is not a JSON object")
      }
      return .json(.object(try profileKey.signed(payload)))
    }
  }

  func rotateKeys(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      .json(try changeProfileKey().list(otherFirst: settings.otherKeysFirst))
    }
  }
}

/// Like ``respondingWithOAuthErrors(_:)``, for control calls that name a phone number.
nonisolated(nonsending) private func respondingToControl(
  _ handle: nonisolated(nonsending) () async throws -> Reply
) async -> Reply {
  await respondingWithOAuthErrors {
    do {
      return try await handle()
    } catch let refusal as TruecallerErrorReply {
      throw OAuthError("invalid_request", refusal.message)
    }
  }
}

extension EndpointCall {
  /// Reads the JSON object in the body of a control call.
  fileprivate func objectInBody() throws(OAuthError) -> ObjectReader {
    try ObjectReader(try? JSON(parsing: body))
  }
}

extension ObjectReader {
  /// Reads the members `countryCode` and `phoneNumber`.
  fileprivate mutating func number() throws -> TruecallerNumber {
    let country = try requiredText("countryCode")
    return try TruecallerNumber(
      country: country, national: try requiredText("phoneNumber"), countryMember: "countryCode")
  }
}

extension TruecallerLedger.Verification {
  fileprivate func json(_ settings: TruecallerBackendSettings, _ now: Date) -> JSON {
    [
      "id": .string(id), "phoneNumber": .string(number.e164),
      "countryCode": .string(number.country), "deviceId": .string(deviceID),
      "createdAt": .number(issued.timeIntervalSince1970),
      "expiresAt": .number(expires.timeIntervalSince1970), "wrongCodes": .integer(wrongCodes),
      "state": .string(state(settings, now: now)),
    ]
  }
}

extension TruecallerLedger.Grant {
  fileprivate func json(issued: Date, expires: Date, _ now: Date) -> JSON {
    [
      "id": .string(id), "phoneNumber": .string(number.e164),
      "countryCode": .string(number.country), "deviceId": .string(deviceID),
      "host": .string(number.host.rawValue), "verifiedBefore": .bool(verifiedBefore),
      "issuedAt": .number(issued.timeIntervalSince1970),
      "expiresAt": .number(expires.timeIntervalSince1970),
      "state": .string(isRevoked ? "revoked" : expires > now ? "live" : "expired"),
    ]
  }
}

extension TruecallerLedger.Known {
  fileprivate var json: JSON {
    var members: [String: JSON] = ["phoneNumber": .string(e164)]
    members["deviceId"] = deviceID.map { .string($0) }
    return .object(members)
  }
}
