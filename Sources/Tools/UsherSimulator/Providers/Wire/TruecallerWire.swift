import JSONRPC

/// Truecaller at `/truecaller`.
struct TruecallerWire: ProviderWire {
  let prefix = "/truecaller"

  static func message(_ phone: String) -> String { "Truecaller's message to \(phone)" }

  static func check(_ phone: String, _ code: JSONValue?) -> String {
    "Truecaller's check of the code \(code?.stringValue ?? "") for \(phone)"
  }

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    switch request.segments.last {
    case "create":
      SingleRequest(name: Self.message(phone(request)), isAsked: true, refusals: [429])
    case "verify":
      SingleRequest(
        name: Self.check(phone(request), request.body["secretToken"]), isAsked: true,
        refusals: [429])
    default: nil
    }
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    if let token = reply["accessToken"]?.stringValue {
      provided.record(token, owner: SandboxAccount.owner(phone(request)))
    }
    if let number = reply["phoneNumber"]?.stringValue, request.bearer != nil {
      provided.record(number, owner: SandboxAccount.owner(number))
    }
  }

  /// All numbers of the simulation are in India.
  private func phone(_ request: WireRequest) -> String {
    "+91\(request["phoneNumber"] ?? "")"
  }
}
