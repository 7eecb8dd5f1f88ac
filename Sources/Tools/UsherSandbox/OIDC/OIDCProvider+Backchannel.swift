import FoundationEssentials

extension Ledger {
  /// A user whom the provider asks on a device that it knows (OpenID Connect CIBA).
  struct Backchannel: Sendable {
    var user: User
    var bindingMessage: String?
  }

  /// Starts an authentication that the user approves elsewhere. Its id is polled like a device
  /// code.
  mutating func startBackchannel(
    _ backchannel: Backchannel, client: Client, scope: [String], resources: [String], now: Date
  ) -> DeviceStart {
    let start = DeviceStart(
      deviceCode: tokenGenerator.token("dc"), userCode: "", expiresIn: deviceTerms.codeSeconds,
      interval: deviceTerms.interval)
    devices.insert(
      Device(
        clientID: client.id, scope: scope, resources: resources, userCode: "",
        interval: start.interval, backchannel: backchannel),
      for: start.deviceCode, until: now.addingTimeInterval(Double(start.expiresIn)), now: now)
    return start
  }
}

extension OIDCBackend {
  static let backchannelGrant = "urn:openid:params:grant-type:ciba"
  /// The maximum length of a binding message in characters.
  private static let maxBindingMessage = 20

  /// Handles the backchannel authentication endpoint (CIBA Core §7).
  func authenticateUser(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let form = try call.postedForm()
      let client = try await authenticate(call, form)
      guard client.secret != nil else {
        throw OAuthError("unauthorized_client", "a public client cannot ask for a user")
      }
      let scope = try Scope.parse(form["scope"])
      guard scope.contains("openid") else {
        throw OAuthError("invalid_scope", "the scope must contain openid")
      }
      guard !form.has("login_hint_token"), !form.has("id_token_hint") else {
        throw OAuthError("invalid_request", "the only hint that is supported is login_hint")
      }
      let hint = try form.required("login_hint")
      guard let user = context.users.all.first(where: { [$0.username, $0.email].contains(hint) })
      else { throw OAuthError("unknown_user_id", "there is no such user") }
      let message = form["binding_message"]
      guard message != nil || !settings.fapi2 else {
        throw OAuthError("invalid_request", "FAPI-CIBA demands a binding_message here")
      }
      guard message?.count ?? 0 <= Self.maxBindingMessage else {
        throw OAuthError("invalid_binding_message", "the binding message is too long")
      }
      let start = ledger.startBackchannel(
        .init(user: user, bindingMessage: message), client: client, scope: scope,
        resources: form.audiences, now: context.clock.now())
      let members: [String: JSON] = [
        "auth_req_id": .string(start.deviceCode), "expires_in": .integer(start.expiresIn),
        "interval": .integer(start.interval),
      ]
      return .json(.object(members.applying(overrides: settings.backchannelReply)))
    }
  }

  /// Decides for a user about all requests that wait for the user, such as `{"user": "alice",
  /// "allow": true}`, and lists what the user's device shows. A `bindingMessage` limits this to the
  /// requests that have it.
  func decideForUser(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      guard let body = try? JSON(parsing: call.body), case .string(let name)? = body["user"],
        case .bool(let isAllowed) = body["allow"] ?? true
      else { throw OAuthError("invalid_request", "user must be a user name") }
      let now = context.clock.now()
      var shown: [JSON] = []
      for entry in ledger.devices.listing {
        guard let backchannel = entry.value.backchannel, backchannel.user.username == name,
          case .waiting = entry.value.state,
          body["bindingMessage"]?.text.map({ $0 == backchannel.bindingMessage }) ?? true
        else { continue }
        ledger.settleDevice(entry.key, user: backchannel.user, allowed: isAllowed, authTime: now)
        shown.append([
          "client": .string(entry.value.clientID),
          "scope": .string(entry.value.scope.joined(separator: " ")),
          "bindingMessage": backchannel.bindingMessage.map { .string($0) } ?? .null,
        ])
      }
      return .json(["requests": .array(shown)])
    }
  }
}
