import JSONRPC

/// Paysafe at `/paysafe`.
struct PaysafeWire: ProviderWire {
  let prefix = "/paysafe"

  static func challenge(_ event: String) -> String { "Paysafe's challenge for \(event)" }

  static func attempt(_ event: String, _ value: JSONValue?) -> String {
    "Paysafe's attempt \(value?.stringValue ?? "") for \(event)"
  }

  static func approval(_ event: String) -> String { "Paysafe's approval of \(event)" }

  func refreshToken(_ request: WireRequest) -> String? {
    OpenIDWire().refreshToken(request)
  }

  func newTokens(
    _ request: WireRequest, _ reply: JSONValue, _ provided: ProvidedValues
  ) -> NewTokens? {
    // A config token belongs to nobody.
    request["grant_type"] == "client_credentials" ? nil : OpenIDWire.tokens(reply)
  }

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    if let code = request["code"] {
      return SingleRequest(
        name: "redemption of the code \(code)", postponements: [429, 503])
    }
    let segments = request.segments
    if segments.contains("wallets"), request.method != "GET" {
      var body = request.body
      body["scaDetails"] = nil
      let text = String(decoding: body.encoded(), as: UTF8.self)
      // After 401 the call is made again with another token, or with the approval.
      return SingleRequest(
        name: "\(request.method) \(request.path) \(text)", refusals: [401, 429])
    }
    guard request.method == "POST", segments.count > 4 else { return nil }
    let event = segments[4]
    switch segments.last {
    case "challenges":
      let verification = request.body["verification"]
      let words = [verification?["method"], verification?["channel"]].compactMap { $0 }
      let isMessage = words.contains { ["SMS", "EMAIL", "PUSH_NOTIFICATION"].contains($0) }
      return isMessage
        ? SingleRequest(name: Self.challenge(event), isAsked: true, isInquired: true) : nil
    case "attempts":
      return SingleRequest(
        name: Self.attempt(event, request.body["value"]), isAsked: true, refusals: [401, 429])
    default: return nil
    }
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    if reply["status"] == "VERIFIED", let event = reply["eventId"]?.stringValue {
      provided.record(Self.approval(event), owner: nil)
    }
    if let payment = reply["paymentId"]?.stringValue {
      let wallet = reply["walletId"]?.stringValue ?? ""
      provided.record(payment, owner: SandboxAccount.owner(wallet))
    }
  }
}
