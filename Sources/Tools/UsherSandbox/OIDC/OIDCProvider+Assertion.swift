import Crypto
import FoundationEssentials
import JWTKit

extension OIDCBackend {
  private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

  /// Authenticates the client of a request by one of the methods that the settings accept.
  func authenticate(_ call: EndpointCall, _ form: Form) async throws -> Client {
    try checkDocument(of: form["client_id"])
    let holder = form["client_id"].flatMap(clients.named).flatMap { client in
      client.certificate.map { (client, $0) }
    }
    let method = holder?.1.rawValue ?? Self.method(call, form)
    let accepted = settings.clientAuthMethods
    guard accepted.isEmpty || accepted.contains(method) else {
      throw OAuthError.client("the method \(method) is not accepted")
    }
    try checkProfile(method: method, form)
    let client: Client
    if let (certified, method) = holder {
      guard Self.method(call, form) == "none" else {
        throw OAuthError("invalid_request", "the client uses two authentication methods at once")
      }
      try authenticateByCertificate(certified, method, call)
      client = certified
    } else if form.has("client_assertion") {
      client = try await authenticateByAssertion(call, form)
    } else {
      client = try clients.authenticate(call, form)
    }
    try checkRegistration(of: client.id, method: method)
    try checkDocument(of: client.id, method: method)
    return client
  }

  /// The name of the method in OIDC Core §9. An assertion counts as `private_key_jwt`.
  private static func method(_ call: EndpointCall, _ form: Form) -> String {
    if form.has("client_assertion") { return "private_key_jwt" }
    if call.headers["authorization"] != nil { return "client_secret_basic" }
    return form.has("client_secret") ? "client_secret_post" : "none"
  }

  /// Authenticates a client by a signed assertion (RFC 7523 §3). The client's key set verifies it,
  /// or the client secret if there is no key set. An assertion is valid once.
  private func authenticateByAssertion(
    _ call: EndpointCall, _ form: Form
  ) async throws -> Client {
    guard form["client_assertion_type"] == Self.assertionType else {
      throw OAuthError("invalid_request", "client_assertion_type is missing or unknown")
    }
    guard call.headers["authorization"] == nil, !form.has("client_secret") else {
      throw OAuthError("invalid_request", "the client uses two authentication methods at once")
    }
    guard let id = form["client_id"], let client = clients.named(id) else {
      throw OAuthError.client("client_id is missing or unknown")
    }
    if let claims = try await workloadIssuer.claims(of: form["client_assertion"] ?? "") {
      try checkWorkload(claims, isClient: id, call)
      return client
    }
    let keys = JWTKeyCollection()
    if let set = keySet(of: id) {
      try await keys.add(jwks: set.decoded(as: JWKS.self))
    } else if let secret = client.secret {
      await keys.add(hmac: HMACKey(clientSecret: secret), digestAlgorithm: .sha256)
    } else {
      throw OAuthError.client("no key of this client is registered")
    }
    guard
      let claims = try? await keys.verify(form["client_assertion"] ?? "", as: Claims.self).members
    else { throw OAuthError.client("the signature of the assertion is wrong") }
    try check(claims, of: client, call)
    return client
  }

  private func check(
    _ claims: [String: JSON], of client: Client, _ call: EndpointCall
  ) throws(OAuthError) {
    let audience = issuer(call) + (settings.assertionsAreForEndpoint ? "/token" : "")
    guard claims["iss"] == .string(client.id), claims["sub"] == .string(client.id) else {
      throw .client("iss or sub is not the client")
    }
    guard claims["aud"] == .string(audience) else { throw .client("aud is not \(audience)") }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard case .integer(let end)? = claims["exp"], (now...now + 300).contains(end) else {
      throw .client("exp is missing, has passed, or is too far away")
    }
    guard case .string(let id)? = claims["jti"], ledger.usedAssertions.insert(id).inserted else {
      throw .client("jti is missing or was used before")
    }
  }
}
