import JSONRPC
import UsherSandbox

/// OpenID Connect at `/oidc`.
struct OpenIDWire: ProviderWire {
  let prefix = "/oidc"

  private enum GrantType: String {
    case clientCredentials = "client_credentials"
    case jwtBearer = "jwt-bearer"
    case exchange = "token-exchange"
    case device = "device_code"
    case backchannel = "ciba"
    case code = "authorization_code"
    case refresh = "refresh_token"
  }

  /// Returns the last part of the `grant_type`, which is a word or an URN.
  private func grantType(_ request: WireRequest) -> GrantType? {
    request["grant_type"]?.split(separator: "%3A").last.flatMap { GrantType(rawValue: String($0)) }
  }

  func refreshToken(_ request: WireRequest) -> String? {
    grantType(request) == .refresh ? request["refresh_token"] : nil
  }

  func exchangedToken(_ request: WireRequest) -> String? {
    grantType(request) == .exchange ? request["subject_token"] : nil
  }

  func realm(_ request: WireRequest) -> String {
    guard let id = request["client_id"], id != OpenIDWorkload(.plain).clientID else {
      return prefix
    }
    return Self.realm(ofClient: id)
  }

  static func realm(ofClient id: String) -> String { "/oidc of \(id)" }

  func bindsTokens(_ request: WireRequest) -> Bool {
    request["client_id"] == OpenIDWorkload(.bound).clientID
  }

  func polledCode(_ request: WireRequest) -> String? {
    switch grantType(request) {
    case .device: request["device_code"]
    case .backchannel: request["auth_req_id"]
    case .clientCredentials, .jwtBearer, .exchange, .code, .refresh, nil: nil
    }
  }

  func newPolling(_ reply: JSONValue) -> (code: String, interval: Int64)? {
    let code = reply["device_code"]?.stringValue ?? reply["auth_req_id"]?.stringValue
    return code.map { ($0, reply["interval"]?.integerValue ?? 5) }
  }

  func revokedToken(_ request: WireRequest) -> String? {
    request.path.hasSuffix("/revoke") ? request["token"] : nil
  }

  func newTokens(
    _ request: WireRequest, _ reply: JSONValue, _ provided: ProvidedValues
  ) -> NewTokens? {
    // A token of the client or of a service account belongs to nobody.
    guard ownerless(request) == nil else { return nil }
    var tokens = Self.tokens(reply)
    tokens?.audience = (request["resource"] ?? request["audience"])?
      .replacing("%3A", with: ":").replacing("%2F", with: "/")
    return tokens
  }

  /// Returns the subject of a token that belongs to nobody; nil for all other tokens.
  private func ownerless(_ request: WireRequest) -> String? {
    switch grantType(request) {
    case .clientCredentials: ServiceWorkload.clientID
    case .jwtBearer: RobotWorkload.subject
    case .exchange, .device, .backchannel, .code, .refresh, nil: nil
    }
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    if let subject = ownerless(request), let token = reply["access_token"]?.stringValue {
      provided.record(token, owner: nil)
      provided.record(subject, owner: nil)
    }
    // A request that has brought tokens is over: if they were lost, the person is asked once more.
    if let id = reply["auth_req_id"]?.stringValue {
      provided.note(request["binding_message"] ?? "", of: id)
    } else if grantType(request) == .backchannel,
      let message = request["auth_req_id"].flatMap({ provided.note(of: $0) })
    {
      provided.note("\(rounds(of: message, provided) + 1)", of: "rounds of \(message)")
    }
  }

  private func rounds(of message: String, _ provided: ProvidedValues) -> Int {
    provided.note(of: "rounds of \(message)").flatMap { Int($0) } ?? 1
  }

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    if let message = request["binding_message"] {
      let round = rounds(of: message, provided)
      return SingleRequest(
        name: "question \(message) to a person, round \(round)", refusals: [429],
        postponements: [503])
    }
    return request["code"].map {
      SingleRequest(name: "redemption of the code \($0)", postponements: [429, 503])
    }
  }

  /// Reads the reply of a token endpoint (RFC 6749 §5.1) with an ID token.
  static func tokens(_ reply: JSONValue) -> NewTokens? {
    guard let token = reply["access_token"]?.stringValue,
      let seconds = reply["expires_in"]?.integerValue
    else { return nil }
    let idToken = reply["id_token"]?.stringValue
    let claims = idToken.flatMap { UnverifiedToken($0) }?.claims
    var tokens = NewTokens(
      subject: claims?["sub"]?.stringValue, accessToken: token,
      refreshToken: reply["refresh_token"]?.stringValue, seconds: seconds)
    if let idToken, let begin = claims?["iat"]?.integerValue, let end = claims?["exp"]?.integerValue
    {
      tokens.idToken = (idToken, end - begin)
    }
    return tokens
  }
}
