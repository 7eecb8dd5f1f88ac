import JSONRPC
package import UsherCore

/// Reads the claims of an authorization response that the provider has signed (JARM §2.1, §2.4).
/// The signature has been verified before.
package enum SignedResponse {
  /// The values that the claims are checked against.
  package struct Expectation: Sendable {
    package var issuer: String
    package var clientID: String
    /// The `state` of the authorization request.
    package var state: Secret
    package var now: Timestamp
    /// The tolerated difference between the clocks of the provider and the daemon.
    package var skew: Duration
  }

  /// Returns the response that the provider has signed.
  ///
  /// - Throws: A sentence that names the claim which is wrong. It contains no secret.
  package static func read(
    payload: [UInt8], _ expected: Expectation
  ) throws(UnusableReply) -> AuthorizationResponse {
    guard let claims = HTTPReply(status: 200, body: payload).jsonObject else {
      throw UnusableReply("the payload of the signed answer is not a JSON object")
    }
    guard claims.has("iss", expected.issuer) else {
      throw UnusableReply(
        "iss of the signed answer is not the provider's issuer: expected \(expected.issuer), "
          + "found \(ProviderText.found(claims["iss"]))")
    }
    let audience = claims["aud"]?.arrayValue ?? [claims["aud"] ?? .null]
    guard !audience.isEmpty, audience.allSatisfy({ $0.isText(expected.clientID) }) else {
      throw UnusableReply(
        "aud of the signed answer is not this client: expected \(expected.clientID), "
          + "found \(ProviderText.found(claims["aud"]))")
    }
    guard let end = claims["exp"]?.numericDate, end > expected.now - expected.skew else {
      throw UnusableReply(
        "exp of the signed answer is missing or has passed; the time is "
          + "\(expected.now.milliseconds / 1000), found exp \(ProviderText.found(claims["exp"]))")
    }
    guard let state = claims["state"]?.stringValue, Secret(state) == expected.state else {
      throw UnusableReply("state of the signed answer is not the one that was sent")
    }
    return AuthorizationResponse(claims.compactMapValues(\.stringValue), .oauth)
  }
}
