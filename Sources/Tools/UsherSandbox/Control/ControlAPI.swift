/// The control endpoints that no backend owns: users, request log and faults.
package struct ControlAPI: Sendable {
  let users: Users
  let traffic: Traffic
  /// The endpoint names that a fault rule may use, in addition to `*`.
  let endpointNames: Set<String>

  var endpoints: [Endpoint] {
    [
      Endpoint("users", .get, "/_control/users", handle: listUsers),
      Endpoint("requests", .get, "/_control/requests", handle: listRequests),
      Endpoint("requests", .delete, "/_control/requests") { _ in
        await traffic.forgetRequests()
        return .json(["ok": true])
      },
      Endpoint("exchanges", .get, "/_control/exchanges", handle: listExchanges),
      Endpoint("exchanges", .post, "/_control/exchanges") { _ in
        await traffic.recordExchanges()
        return .json(["ok": true])
      },
      Endpoint("faults", .get, "/_control/faults", handle: listFaults),
      Endpoint("faults", .post, "/_control/faults", handle: addFault),
      Endpoint("faults", .delete, "/_control/faults") { _ in
        await traffic.removeAllRules()
        return .json(["ok": true])
      },
      Endpoint("faults", .delete, "/_control/faults/{id}", handle: removeFault),
    ]
  }

  private func listUsers(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors { .json(["users": try JSON(encoding: users.all)]) }
  }

  private func listRequests(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let query = try call.queryForm()
      let requests = await traffic.requests(
        endpoint: query["endpoint"], grantType: query["grantType"])
      return .json([
        "count": .integer(requests.count), "requests": try JSON(encoding: requests),
      ])
    }
  }

  private func listExchanges(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      .json(["exchanges": try JSON(encoding: await traffic.recordedExchanges())])
    }
  }

  private func listFaults(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let entries = try await traffic.rules().map { entry in
        guard case .object(var members) = try JSON(encoding: entry.rule) else {
          return JSON.null
        }
        members["id"] = .string(entry.id)
        return JSON.object(members)
      }
      return .json(["faults": .array(entries)])
    }
  }

  private func addFault(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let rule = try FaultRule(checking: call.body)
      guard rule.endpoint == "*" || endpointNames.contains(rule.endpoint) else {
        throw OAuthError(
          "invalid_request",
          "endpoint must be one of *, \(endpointNames.sorted().joined(separator: ", "))")
      }
      guard let id = await traffic.add(rule) else {
        throw OAuthError("invalid_request", "the limit of \(FaultTable.limit) faults is reached")
      }
      return .json(["id": .string(id)], status: 201)
    }
  }

  private func removeFault(_ call: EndpointCall) async -> Reply {
    guard await traffic.removeRule(call.id ?? "") else {
      return .refusal("not_found", "no fault has this id", status: 404)
    }
    return .json(["ok": true])
  }
}

extension FaultRule {
  private static let members: Set<String> = ["endpoint", "grantType", "fault", "times", "after"]
  private static let faultMembers: Set<String> = [
    "held", "delayMs", "reset", "status", "brokenJSON", "contentType", "headers", "hugeBody",
    "halfBody", "body", "processed",
  ]

  /// Parses a rule. An unknown member is an error, not ignored.
  init(checking body: [UInt8]) throws(OAuthError) {
    guard let json = try? JSON(parsing: body), case .object(let members) = json,
      case .object(let fault)? = members["fault"]
    else {
      throw OAuthError("invalid_request", "the body must be JSON like {endpoint, fault: {…}}")
    }
    let unknown =
      Set(members.keys).subtracting(Self.members)
      .union(Set(fault.keys).subtracting(Self.faultMembers))
    if let name = unknown.sorted().first {
      throw OAuthError("invalid_request", "there is no member \(name.printable)")
    }
    guard let rule = try? json.decoded(as: FaultRule.self) else {
      throw OAuthError("invalid_request", "a member is missing or has the wrong type")
    }
    if let validationError = rule.fault.validationError {
      throw OAuthError("invalid_request", validationError)
    }
    guard rule.times ?? 1 > 0, rule.after ?? 0 >= 0 else {
      throw OAuthError("invalid_request", "times must be at least 1, and after at least 0")
    }
    self = rule
  }
}
