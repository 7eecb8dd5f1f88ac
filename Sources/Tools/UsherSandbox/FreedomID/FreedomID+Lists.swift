import FoundationEssentials

/// Lists for tests. They contain neither tokens nor the codes that log-ins send.
extension FreedomIDBackend {
  func listPeople(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    return .json(["people": .array(ledger.people.map { $0.json(now) })])
  }

  /// Lists which accounts are tied to which devices.
  func listDeviceBindings(_ call: EndpointCall) async -> Reply {
    let ties = ledger.tokens.values.compactMap { token -> JSON? in
      guard let device = token.device, !token.isEnded, let person = ledger.person(token.person)
      else { return nil }
      return [
        "device": .string(device), "id": .string(person.id), "username": .string(person.username),
        "label": .string(person.label), "tokenId": .string(token.id),
      ]
    }
    return .json(["accounts": .array(ties)])
  }

  func listConsents(_ call: EndpointCall) async -> Reply {
    let consents = ledger.consents.values.map { consent -> JSON in
      [
        "requestId": .string(consent.id), "device": .string(consent.device),
        "username": .string(ledger.person(consent.person)?.username ?? ""),
        "granted": .array(consent.asked.map { .string($0) }),
        "at": .number(consent.at.timeIntervalSince1970),
      ]
    }
    return .json(["consents": .array(consents)])
  }

  func listTokens(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    let tokens = ledger.tokens.values.map { token in
      JSON.object(
        token.listed(now).merging([
          "username": .string(ledger.person(token.person)?.username ?? "")
        ]) { $1 })
    }
    return .json(["tokens": .array(tokens)])
  }

  func listRequests(_ call: EndpointCall) async -> Reply {
    let now = context.clock.now()
    let requests = ledger.requests.listing.filter { $0.expires > now }.map(\.value.json)
    return .json(["requests": .array(requests)])
  }

  func listRevocations(_ call: EndpointCall) async -> Reply {
    .json(["revocations": .array(revocations.all.map(\.json))])
  }
}

extension FreedomIDUser {
  /// The person as JSON, with the present code of the authenticator app.
  func json(_ now: Date) -> JSON {
    [
      "id": .string(id), "username": .string(username), "label": .string(label),
      "password": password.map { .string($0) } ?? .null,
      "twoFactor": .string(twoFactor?.rawValue ?? "off"), "totp": .string(totp.code(at: now)),
      "profile": .object(profile.members(FreedomGrant.words)),
    ]
  }
}

extension FreedomRequest {
  var json: JSON {
    var members: [String: JSON] = [
      "requestId": .string(id), "owner": .string(owner), "status": .string(state.rawValue),
      "grants": .array(grants.map { .string($0) }),
      "createdAt": .number(created.timeIntervalSince1970),
    ]
    members["asked"] = asked.map { .string($0) }
    return .object(members)
  }
}

extension FreedomToken {
  fileprivate func listed(_ now: Date) -> [String: JSON] {
    var members: [String: JSON] = [
      "id": .string(id), "issuedAt": .number(issued.timeIntervalSince1970),
      "accessExpiresAt": .number(accessExpires.timeIntervalSince1970),
      "refreshExpiresAt": .number(refreshExpires.timeIntervalSince1970),
      "state": .string(isEnded ? "ended" : refreshExpires > now ? "live" : "expired"),
    ]
    switch use {
    case .device(let device):
      members["mode"] = "device"
      members["device"] = .string(device)
    case .partner(let grants):
      members["mode"] = "oauth2"
      members["grants"] = .array(grants.map { .string($0) })
    case .openID(let request, _):
      members["mode"] = "oidc"
      members["scope"] = .string(request.scope.joined(separator: " "))
    }
    return members
  }
}
