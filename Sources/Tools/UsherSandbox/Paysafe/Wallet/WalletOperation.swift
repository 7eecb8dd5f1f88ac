import Crypto

/// A call of the wallet's API that an event may permit: what was approved, and nothing else.
struct WalletOperation: Sendable, Hashable {
  /// How the need for SCA was announced, and how its proof comes back.
  enum Form: Sendable, Hashable {
    case header
    case body
  }

  let method: String
  /// With its query.
  let path: String
  /// SHA-256 of method, path and canonical body without `scaDetails`, in hex.
  let digest: String
  /// What the customer reads before approving.
  let summary: String
  let hasBody: Bool
  let announced: Form

  /// - Parameter body: Without `scaDetails`; nil where the call has none.
  init(_ call: Call, body: JSON?, summary: String, announced: Form) {
    method = call.method.rawValue
    path = call.query.isEmpty ? call.path : "\(call.path)?\(call.query)"
    self.summary = summary
    self.announced = announced
    hasBody = body != nil
    let text =
      Array("\(method)\n\(path)\n".utf8) + (body?.encoded() ?? [])
    digest = Hex.text(SHA256.hash(data: text))
  }

  /// A proof comes the way the need was announced; a call without a body has the header.
  func wants(_ form: Form) -> Bool { form == (hasBody ? announced : .header) }
}

/// The `scaDetails` of a retry.
struct ScaProof: Sendable, Hashable {
  let eventID: String
  let walletOperationID: String
  let form: WalletOperation.Form
}

extension ScaProof {
  /// What a call carries, and its body without it.
  ///
  /// Throws where both ways are used at once, or one is not what it should be.
  static func take(from call: Call, _ body: JSON?) throws(Refusal) -> (ScaProof?, JSON?) {
    var rest = body
    let inBody = body?["scaDetails"]
    if case .object(var members)? = body {
      members["scaDetails"] = nil
      rest = .object(members)
    }
    guard let header = call.headers["sca-authorization"] else {
      return (try inBody.map { json throws(Refusal) in try ScaProof(json, .body) }, rest)
    }
    guard inBody == nil else {
      throw Refusal("invalid_request", "scaDetails came in the header and in the body")
    }
    guard let bytes = Base64.decoded(header), let json = try? JSON(parsing: bytes) else {
      throw Refusal("invalid_request", "SCA-Authorization is not JSON in Base64")
    }
    var members = try ObjectReader(json, at: "SCA-Authorization")
    let details = members.take("scaDetails")
    try members.finish()
    return (try ScaProof(details, .header), rest)
  }

  private init(_ json: JSON?, _ form: WalletOperation.Form) throws(Refusal) {
    var members = try ObjectReader(json, at: "scaDetails")
    eventID = try members.requiredText("eventId")
    walletOperationID = try members.requiredText("walletOperationId")
    self.form = form
    try members.finish()
  }
}
