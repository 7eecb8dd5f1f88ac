package import JSONRPC
package import UsherConfig
package import UsherCore

/// The parameters of an authorization request that the daemon signs with the client's private key
/// (RFC 9101 §4), so that nobody between the daemon and the provider can change them.
package struct RequestObject: Sendable, Equatable {
  package var parameters: [String: JSONValue]
  /// The provider's issuer identifier.
  package var audience: String
  package var lifetime: Duration
  /// The signature algorithms that the provider accepts; nil if it does not list them.
  package var algorithms: [String]?

  /// The lifetime of an object that the daemon itself sends to the provider, at once.
  static let pushedLifetime = Duration.seconds(60)
  /// The lifetime of an object that a browser carries: a person may open the page late.
  static let browserLifetime = Duration.seconds(600)

  /// Returns the object with the client, the times and an id, signed by the client's key.
  ///
  /// - Throws: A sentence that says which credential is missing, or is not a key.
  package func signed(_ context: RenderContext<OIDCSettings>) throws(UsherError) -> Secret {
    let settings = context.provider.settings
    guard let name = settings.clientCredential else {
      throw UsherError(
        .internalError,
        "provider \(context.provider.name): a signed request needs client_credential, the name of a "
          + "private key; make one: usherctl provider jwks \(context.provider.name) --create")
    }
    var transition = context.transition
    // A provider whose clock is behind would refuse a statement from the future.
    let issuedAt = transition.now - .seconds(5)
    var claims = parameters
    claims["iss"] = .string(settings.clientID)
    claims["client_id"] = .string(settings.clientID)
    claims["aud"] = .string(audience)
    claims["jti"] = .string(Base64URL.encode(transition.random(16)))
    claims["iat"] = .integer(issuedAt.milliseconds / 1000)
    claims["nbf"] = .integer(issuedAt.milliseconds / 1000)
    claims["exp"] = .integer((transition.now + lifetime).milliseconds / 1000)
    var credential = try context.requiredCredential()
    // The credential of a client with a certificate holds both.
    if settings.clientAuth.usesCertificate { credential = try context.clientCertificate().key }
    let profile = settings.profile
    do throws(InvalidValue) {
      let key = try ClientKey(pem: credential, permittedBy: profile)
      let accepted = profile.accepted(algorithms)
      guard let token = key.token(type: "oauth-authz-req+jwt", claims, accepted: accepted) else {
        throw InvalidValue(ClientKey.flaw)
      }
      return token
    } catch {
      throw UsherError(.internalError, "credential \(name) \(error.message)")
    }
  }
}

/// The outcome of ``Effect/sign(_:)``.
package enum SignedRequest: Sendable, Equatable {
  case signed(Secret)
  /// The client has no key that can sign. The message is a sentence for users.
  case refused(message: String)
}

extension JSONValue {
  /// Creates the claim of a request object for a parameter (RFC 9101 §4, OIDC Core §6.1): numbers
  /// and JSON objects are not written as strings, and several resources are an array.
  init(claim name: String, _ value: String) {
    switch name {
    case "max_age": self = Int64(value).map { .integer($0) } ?? .string(value)
    case "claims": self = (try? JSONValue(parsing: Array(value.utf8))) ?? .string(value)
    case "resource":
      let values = value.split(separator: " ").map { JSONValue.string(String($0)) }
      self = values.count == 1 ? values[0] : .array(values)
    default: self = .string(value)
    }
  }
}
