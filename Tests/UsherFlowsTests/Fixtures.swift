import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

let now = Timestamp(seconds: 1_800_000_000)
let issuer = "https://id.example.com"
let name = ProviderName("work")

/// Counts 1, 2, 3, … so that every draw differs and every run draws the same bytes.
final class CountingEntropy: Entropy, @unchecked Sendable {
  private var next: UInt8 = 0

  func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in
      next &+= 1
      return next
    }
  }
}

func moment(_ time: Timestamp = now) -> TransitionContext {
  TransitionContext(now: time, entropy: CountingEntropy())
}

func settings(
  redirect: String = "loopback", _ change: (inout OIDCSettings) -> Void = { _ in }
) throws -> OIDCSettings {
  var settings = OIDCSettings(issuer: try ProviderURL(setting: issuer), clientID: "usher")
  settings.redirect = try Redirect(setting: redirect)
  change(&settings)
  return settings
}

func provider(
  redirect: String = "loopback", _ change: (inout OIDCSettings) -> Void = { _ in }
) throws -> ProviderConfig {
  ProviderConfig(name: name, settings: try settings(redirect: redirect, change))
}

func oauth2Provider(
  _ change: (inout OAuth2Settings) throws -> Void = { _ in }
) throws -> ProviderConfig {
  let base = try ProviderURL(setting: "https://a.example")
  var settings = OAuth2Settings(baseURL: base, clientID: "usher")
  settings.clientCredential = "secret"
  settings.userinfo.subject = ["id"]
  settings.userinfo.preferredUsername = "data.login"
  settings.paths.deviceAuthorization = try ProviderPath(setting: "/device")
  settings.paths.revocation = try ProviderPath(setting: "/apps/{client_id}/token")
  try change(&settings)
  return ProviderConfig(name: name, settings: settings)
}

func metadata(_ change: (inout OIDCMetadata) -> Void = { _ in }) -> OIDCMetadata {
  var metadata = OIDCMetadata(issuer: issuer)
  metadata.authorizationEndpoint = issuer + "/authorize"
  metadata.tokenEndpoint = issuer + "/token"
  metadata.userinfoEndpoint = issuer + "/userinfo"
  metadata.revocationEndpoint = issuer + "/revoke"
  metadata.deviceAuthorizationEndpoint = issuer + "/device"
  metadata.jwksURI = issuer + "/jwks"
  change(&metadata)
  return metadata
}

extension TokenProtection {
  /// Returns the protection of ID tokens that the configuration does not limit.
  static func accepted(by metadata: OIDCMetadata) -> TokenProtection {
    TokenProtection(algorithms: SigningAlgorithm.accepted(by: metadata))
  }
}

func reply(_ json: JSONValue, status: Int = 200, headers: [String: String] = [:]) -> HTTPReply {
  HTTPReply(status: status, headers: headers, body: json.encoded())
}

func reply(text: String, status: Int = 200, headers: [String: String] = [:]) -> HTTPReply {
  HTTPReply(status: status, headers: headers, body: Array(text.utf8))
}

func word(_ code: String, _ message: String? = nil) -> ProviderErrorCode {
  ProviderErrorCode(name: name, code: code, message: message)
}

/// Returns a JWT with this header and payload. The tests here do not verify its signature.
func signed(_ header: JSONValue, _ payload: JSONValue = [:]) -> Secret {
  let parts = [header.encoded(), payload.encoded(), Array("signature".utf8)]
  return Secret(parts.map { Base64URL.encode($0) }.joined(separator: "."))
}

let idToken = signed(["alg": "RS256", "kid": "k1", "typ": "JWT"])

func tokenReply(_ changes: [String: JSONValue?] = [:]) -> HTTPReply {
  var members: [String: JSONValue] = [
    "access_token": "access-secret", "token_type": "bearer", "expires_in": 300,
    "refresh_token": "refresh-secret", "id_token": .string(idToken.revealed()),
  ]
  for (name, value) in changes { members[name] = value }
  return reply(.object(members))
}

func tokens(_ reply: HTTPReply = tokenReply()) -> TokenSet? {
  let request = TokenRequest(provider: name, scope: "openid profile offline_access")
  guard case .granted(let tokens) = TokenReply(reply, to: request, at: now) else { return nil }
  return tokens
}

/// Returns valid claims with these changes; a nil value removes the claim.
func claims(nonce: String?, _ changes: [String: JSONValue?] = [:]) -> JSONValue {
  var members: [String: JSONValue] = [
    "iss": .string(issuer), "aud": "usher", "sub": "u-1", "exp": 1_800_000_300,
    "iat": 1_800_000_000, "name": "Ada",
  ]
  if let nonce { members["nonce"] = .string(nonce) }
  for (name, value) in changes { members[name] = value }
  return .object(members)
}

/// A flow machine under test, and the parts of its last answer.
protocol AnsweredMachine {
  associatedtype Call: ProviderCall
  associatedtype Machine: FlowMachine where Machine.Call == Call

  var flow: Machine { get }
  var last: Answer<Call> { get }
}

extension AnsweredMachine {
  var calls: [Call] {
    guard case .proceed(let effects) = last else { return [] }
    return effects.compactMap { if case .call(let call) = $0 { call } else { nil } }
  }

  var failure: Failure? {
    if case .fail(let failure, _) = last { failure } else { nil }
  }

  /// The calls that undo what a failed flow obtained, such as a revocation of its tokens.
  var cleanUp: [Call] {
    if case .fail(_, let calls) = last { calls } else { [] }
  }

  var completion: Completion? { Machine.completion(in: last) }
}

extension ProviderCall {
  /// Renders a call whose concrete type the caller does not know.
  ///
  /// - Throws: The error of ``ProviderCall/render(_:)``.
  func rendered(
    at provider: ProviderConfig, credential: Secret? = nil, credentials: [String: Secret] = [:],
    accessToken: Secret? = nil, clientToken: Secret? = nil
  ) throws -> HTTPRequest {
    try render(
      RenderContext(
        provider: try #require(Provider(provider)), credential: credential,
        credentials: credentials, accessToken: accessToken, clientToken: clientToken,
        transition: moment()))
  }
}
