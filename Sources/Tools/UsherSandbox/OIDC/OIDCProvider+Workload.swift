import Crypto
import FoundationEssentials
import JWTKit

/// Another issuer that the provider trusts, such as a Kubernetes cluster, whose tokens tell
/// workloads apart. It exists in the sandbox only.
struct WorkloadIssuer: Sendable {
  static let issuer = "https://workloads.example"

  private let key = P256.Signing.PrivateKey()

  func sign(_ claims: [String: JSON]) async throws -> String {
    try await keys().sign(Claims(claims))
  }

  /// Returns the claims of a token of this issuer; nil for any other token.
  func claims(of token: String) async throws -> [String: JSON]? {
    guard let claims = try? await keys().verify(token, as: Claims.self).members,
      claims["iss"] == .string(Self.issuer)
    else { return nil }
    return claims
  }

  private func keys() async throws -> JWTKeyCollection {
    await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(backing: key))
  }
}

extension OIDCBackend {
  /// Issues a token to a workload for the assertion of its issuer (RFC 7523 §2.1).
  func answerWorkload(
    _ claims: [String: JSON], _ form: Form, _ call: EndpointCall
  ) async throws -> Reply {
    let client = try await authenticate(call, form)
    guard case .string(let subject)? = claims["sub"], settings.workloads[subject] == client.id
    else {
      throw OAuthError("invalid_grant", "the assertion is of no workload of this client")
    }
    if let fault = workloadFault(claims, call) { throw OAuthError("invalid_grant", fault) }
    let tokens = ledger.tokens.openForSubject(
      subject, clientID: client.id, scope: try Scope.parse(form["scope"]),
      audience: try form.oneAudience(), key: try provenKey(call), now: context.clock.now())
    return try await reply(tokens, call, withIDToken: false)
  }

  /// Checks an assertion by which a workload authenticates itself as a client (RFC 7523 §2.2).
  func checkWorkload(
    _ claims: [String: JSON], isClient id: String, _ call: EndpointCall
  ) throws(OAuthError) {
    guard case .string(let subject)? = claims["sub"], settings.workloads[subject] == id else {
      throw .client("the assertion is of no workload of this client")
    }
    if let fault = workloadFault(claims, call) { throw .client(fault) }
  }

  /// Returns why an assertion is not valid here and now (RFC 7523 §3); nil if it is. It has no
  /// `jti`: a workload presents it until it ends.
  private func workloadFault(_ claims: [String: JSON], _ call: EndpointCall) -> String? {
    guard claims["aud"] == [.string(issuer(call))] else { return "aud is not \(issuer(call))" }
    let now = Int(context.clock.now().timeIntervalSince1970)
    guard case .integer(let end)? = claims["exp"], end > now else { return "exp has passed" }
    return nil
  }

  /// Returns the token of a workload: `{"sub": "robot", "seconds": 300, "aud": "https://…"}`. The
  /// default of `aud` is this provider.
  func issueAssertion(_ call: EndpointCall) async -> Reply {
    await respondingWithOAuthErrors {
      let body = try? JSON(parsing: call.body)
      guard case .string(let subject)? = body?["sub"],
        case .integer(let seconds) = body?["seconds"] ?? 300
      else { throw OAuthError("invalid_request", "sub is missing, or seconds is no integer") }
      let now = Int(context.clock.now().timeIntervalSince1970)
      let assertion = try await workloadIssuer.sign([
        "iss": .string(WorkloadIssuer.issuer), "sub": .string(subject),
        "aud": [body?["aud"] ?? .string(issuer(call))], "iat": .integer(now),
        "exp": .integer(now + seconds),
      ])
      return .json(["assertion": .string(assertion)])
    }
  }
}
