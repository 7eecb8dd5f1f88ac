import FoundationEssentials
import JSONRPC
package import UsherConfig
package import UsherCore

extension PaysafeCall {
  package func render(_ context: RenderContext<PaysafeSettings>) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    switch self {
    case .configToken(let brand):
      return try Self.token(brand, [("grant_type", "client_credentials")], context)
    case .exchange(let exchange):
      return try Self.token(
        exchange.brand,
        [
          ("grant_type", "authorization_code"), ("code", exchange.code.revealed()),
          ("redirect_uri", exchange.redirectURI), ("code_verifier", exchange.verifier.revealed()),
        ], context)
    case .refresh(let token, let brand):
      return try Self.token(
        brand, [("grant_type", "refresh_token"), ("refresh_token", token.revealed())], context)
    case .challenge(let event, let verification, let instructions):
      let body = event.body(
        verification.json(instructions), settings.appType.map { ["appType": .string($0)] })
      let url = settings.paths.challenge.url(under: settings.baseURL, "eventId", event.id)
      return .json(.post, url, body, [try .bearer(context)])
    case .attempt(let event, let verification, let value):
      var body = event.body(verification.json(), nil)
      body["value"] = .string(value.revealed())
      let url = settings.paths.attempt.url(under: settings.baseURL, "eventId", event.id)
      return .json(.post, url, body, [try .bearer(context)], hiding: [value])
    case .event(let event):
      let url = settings.paths.event.url(under: settings.baseURL, "eventId", event.id)
      return .json(.get, url, nil, [try .bearer(context)])
    case .operation(let operation, account: _, let approval):
      return try operation.request(approval, settings, context)
    }
  }

  private static func token(
    _ brand: String, _ fields: [(name: String, value: String)],
    _ context: RenderContext<PaysafeSettings>
  ) throws(UsherError) -> HTTPRequest {
    let settings = context.provider.settings
    let client = try ClientAuthentication(context, .init())
    return .form(
      settings.paths.token.url(under: settings.baseURL, "brandIdentity", brand),
      fields + client.fields, headers: client.headers)
  }
}

extension PaysafeCall.Event {
  fileprivate func body(_ verification: JSONValue, _ device: JSONValue?) -> [String: JSONValue] {
    var body: [String: JSONValue] = [
      "walletOperationId": .string(walletOperationID), "verification": verification,
    ]
    body["deviceInfo"] = device
    return body
  }
}

extension PaysafeCall.Verification {
  fileprivate func json(_ instructions: PaysafeCall.Instructions = .init()) -> JSONValue {
    var members: [String: JSONValue] = ["method": .string(method)]
    members["channel"] = channel.map { .string($0) }
    var action: [String: JSONValue] = [:]
    action["language"] = instructions.language.map { .string($0) }
    action["returnUrl"] = instructions.returnURL.map { .string($0) }
    if !action.isEmpty { members["action"] = .object(action) }
    return .object(members)
  }
}

extension PaysafeCall.Approval {
  fileprivate var details: JSONValue {
    ["eventId": .string(eventID), "walletOperationId": .string(walletOperationID)]
  }
}

extension WalletOperation {
  fileprivate func request(
    _ approval: PaysafeCall.Approval?, _ settings: PaysafeSettings,
    _ context: RenderContext<PaysafeSettings>
  ) throws(UsherError) -> HTTPRequest {
    var body = body
    var headers = [try HTTPRequest.Header.bearer(context)]
    if let approval {
      if approval.form == .body, body != nil {
        body?["scaDetails"] = approval.details
      } else {
        let details: JSONValue = ["scaDetails": approval.details]
        let encoded = Data(details.encoded()).base64EncodedString()
        headers.append(.init("SCA-Authorization", Secret(encoded)))
      }
    }
    return .json(method, settings.baseURL.text + path, body, headers)
  }
}
