import Crypto

/// A wallet request that an event may permit. The approval is valid for exactly this request.
struct WalletRequestOperation: Sendable, Hashable {
  /// How the need for SCA is announced and how the proof is sent.
  enum Form: Sendable, Hashable {
    case header
    case body
  }

  let method: String
  /// The path with its query.
  let path: String
  /// SHA-256 in hex of the method, the path and the canonical body without `scaDetails`.
  let digest: String
  /// The description of the operation that the customer reads before approving it.
  let summary: String
  let hasBody: Bool
  let announced: Form

  /// - Parameter body: The body without `scaDetails`; nil if the request has no body.
  init(_ call: EndpointCall, body: JSON?, summary: String, announced: Form) {
    method = call.method.rawValue
    path = call.query.isEmpty ? call.path : "\(call.path)?\(call.query)"
    self.summary = summary
    self.announced = announced
    hasBody = body != nil
    let text =
      Array("\(method)\n\(path)\n".utf8) + (body?.encoded() ?? [])
    digest = Hex.text(SHA256.hash(data: text))
  }

  /// Whether a proof in this form is accepted: in the form of the announcement, but always in the
  /// header if the request has no body.
  func wants(_ form: Form) -> Bool { form == (hasBody ? announced : .header) }
}

/// The `scaDetails` of a request that is repeated after approval.
struct ScaProof: Sendable, Hashable {
  let eventID: String
  let walletOperationID: String
  let form: WalletRequestOperation.Form
}

extension ScaProof {
  /// Returns the proof that a request carries, if any, and its body without the proof.
  ///
  /// Throws if both the header and the body have a proof, or if a proof is malformed.
  static func extract(from call: EndpointCall, _ body: JSON?) throws(OAuthError) -> (
    ScaProof?, JSON?
  ) {
    var rest = body
    let inBody = body?["scaDetails"]
    if case .object(var members)? = body {
      members["scaDetails"] = nil
      rest = .object(members)
    }
    guard let header = call.headers["sca-authorization"] else {
      return (try inBody.map { json throws(OAuthError) in try ScaProof(json, .body) }, rest)
    }
    guard inBody == nil else {
      throw OAuthError("invalid_request", "scaDetails is in both the header and the body")
    }
    guard let bytes = Base64.decoded(header), let json = try? JSON(parsing: bytes) else {
      throw OAuthError("invalid_request", "SCA-Authorization is not JSON in Base64")
    }
    var members = try ObjectReader(json, at: "SCA-Authorization")
    let details = members.remove("scaDetails")
    try members.finish()
    return (try ScaProof(details, .header), rest)
  }

  private init(_ json: JSON?, _ form: WalletRequestOperation.Form) throws(OAuthError) {
    var members = try ObjectReader(json, at: "scaDetails")
    eventID = try members.requiredText("eventId")
    walletOperationID = try members.requiredText("walletOperationId")
    self.form = form
    try members.finish()
  }
}
