import FoundationEssentials
import JWTKit

extension OIDCBackend {
  /// Returns the parameters of the signed request object in a form (RFC 9101 §6), or the form
  /// itself if it has none. Nothing outside of the object counts.
  func signed(_ form: Form, _ call: EndpointCall) async throws(OAuthError) -> Form {
    guard let object = form["request"] else {
      guard !settings.requireSignedRequests else {
        throw OAuthError("invalid_request", "the request must be signed by the client")
      }
      return form
    }
    guard let id = form["client_id"], let set = keySet(of: id) else {
      throw OAuthError("invalid_request_object", "no key of this client is registered")
    }
    let claims = try await Self.claims(of: object, by: set)
    try checkProfile(of: object, claims)
    guard claims["iss"] == .string(id), claims["client_id"] == .string(id) else {
      throw OAuthError("invalid_request_object", "iss or client_id is not the client")
    }
    guard claims["aud"] == .string(issuer(call)) else {
      throw OAuthError("invalid_request_object", "aud is not \(issuer(call))")
    }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard case .integer(let end)? = claims["exp"], (now...now + 3600).contains(end) else {
      throw OAuthError("invalid_request_object", "exp is missing, has passed, or is too far away")
    }
    guard claims["request"] == nil, claims["request_uri"] == nil else {
      throw OAuthError("invalid_request_object", "a request object must not contain another one")
    }
    return Form(parameters: claims)
  }

  private static func claims(
    of object: String, by set: JSON
  ) async throws(OAuthError) -> [String: JSON] {
    do {
      let keys = JWTKeyCollection()
      try await keys.add(jwks: set.decoded(as: JWKS.self))
      return try await keys.verify(object, as: Claims.self).members
    } catch {
      throw OAuthError("invalid_request_object", "the signature of the request object is wrong")
    }
  }
}

extension Form {
  /// Creates the form of the parameters in a request object.
  fileprivate init(parameters claims: [String: JSON]) {
    self.init(
      claims.compactMapValues { value in
        switch value {
        case .string(let text): text
        case .integer(let number): String(number)
        case .array(let values): values.compactMap(\.text).joined(separator: "\n")
        case .object: String(decoding: value.encoded(), as: UTF8.self)
        case .null, .bool, .number: nil
        }
      })
  }
}
