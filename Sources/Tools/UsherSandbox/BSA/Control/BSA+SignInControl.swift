import FoundationEssentials

/// Control calls for sign-ins.
extension BSABackend {
  func listSignIns(_ call: EndpointCall) async -> Reply {
    let all = signIns.all(now: context.clock.now())
    return .json(["signIns": .array(all.map(\.json))])
  }

  func showSignIn(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(try shown(call).json) }
  }

  /// Begins a sign-in as a person would at the site.
  func beginSignIn(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      var body = try call.optionalObject()
      let word = try body.text("by") ?? "push"
      let userKey = try body.text("userKey") ?? members.all.first?.userKey
      let number = try body.text("number")
      let site = BSAClient(site: try body.text("client"))
      try body.finish()
      guard let trigger = BSASignIn.Trigger(rawValue: word) else {
        throw body.invalid("by", "must be push, qr, otp or totp")
      }
      guard let site else { throw body.invalid("client", "must be acme or other") }
      do throws(BSARefusal) {
        return .json(try begin(trigger, at: site, userKey, number: number).json, status: 201)
      } catch {
        throw error.asConflict
      }
    }
  }

  /// Cancels a sign-in, or times it out.
  func endSignIn(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let signIn = try shown(call)
      var body = try call.optionalObject()
      let word = try body.requiredText("state")
      try body.finish()
      guard let stage = [BSASignIn.Phase.cancelled, .timedOut].first(where: { $0.name == word })
      else { throw body.invalid("state", "must be cancelled or timedOut") }
      guard signIns.end(signIn.id, as: stage, now: context.clock.now()) else {
        throw OAuthError("over", "the sign-in has already ended", status: 409)
      }
      return .json(try shown(call).json)
    }
  }

  private func shown(_ call: EndpointCall) throws(OAuthError) -> BSASignIn {
    guard let signIn = signIns.signIn(call.id ?? "", now: context.clock.now()) else {
      throw OAuthError("not_found", "there is no such sign-in", status: 404)
    }
    return signIn
  }
}

extension BSASignIn {
  /// The sign-in without its channel key and token.
  fileprivate var json: JSON {
    var members: [String: JSON] = [
      "id": .string(id), "by": .string(trigger.rawValue), "client": .string(site.rawValue),
      "state": .string(stage.name), "collected": false,
      "begunAt": .number(begun.timeIntervalSince1970),
      "expiresAt": .number(expires.timeIntervalSince1970),
    ]
    members["userKey"] = userKey.map { .string($0) }
    members["qrId"] = qrID.map { .string($0) }
    members["deviceId"] = channel.map { .string($0.device) }
    if case .completed(_, let localAuth, let isCollected) = stage {
      members["localAuth"] = .bool(localAuth)
      members["collected"] = .bool(isCollected)
    }
    return .object(members)
  }
}
