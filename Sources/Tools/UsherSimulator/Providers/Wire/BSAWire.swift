import JSONRPC

/// BSA at `/bsa`.
struct BSAWire: ProviderWire {
  let prefix = "/bsa"

  static func message(_ contact: String) -> String { "BSA's message to \(contact)" }

  static func check(_ contact: String, _ number: JSONValue?) -> String {
    "BSA's check of the number \(number?.stringValue ?? "") for \(contact)"
  }

  static func signUp(_ userKey: String) -> String { "BSA's sign-up of \(userKey)" }

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    guard request.method == "POST" else { return nil }
    let contact = request["email"] ?? request["phoneNum"] ?? request["verifyData"] ?? ""
    return switch request.path.dropFirst(prefix.count) {
    case "/mail", "/sms", "/users/send-otp":
      SingleRequest(name: Self.message(contact), isAsked: true, refusals: [429])
    case "/mail/verify", "/sms/verify":
      SingleRequest(
        name: Self.check(contact, request.body["authNum"]), isAsked: true, refusals: [429])
    case "/users":
      SingleRequest(name: Self.signUp(request["userKey"] ?? ""), refusals: [429])
    default: nil
    }
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    guard reply["rtCode"] == 0 else { return }
    let key = request["userKey"] ?? ""
    switch (request.method, request.path.dropFirst(prefix.count)) {
    case ("POST", "/users"):
      provided.record(Self.signUp(key), owner: SandboxAccount.owner(key))
    case ("POST", "/auth"):
      guard let channel = reply["data"]?["channelKey"]?.stringValue else { return }
      provided.record(channel, owner: SandboxAccount.owner(key))
    case ("GET", "/auth"):
      guard let token = reply["data"]?.stringValue, let channel = request["channelKey"]
      else { return }
      provided.record(token, owner: provided.owner(of: channel))
    default: break
    }
  }
}
