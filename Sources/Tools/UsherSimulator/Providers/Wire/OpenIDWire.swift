import JSONRPC
import UsherSandbox

/// OpenID Connect at `/oidc`.
struct OpenIDWire: ProviderWire {
  let prefix = "/oidc"

  func refreshToken(_ request: WireRequest) -> String? {
    request["grant_type"] == "refresh_token" ? request["refresh_token"] : nil
  }

  func revokedToken(_ request: WireRequest) -> String? {
    request.path.hasSuffix("/revoke") ? request["token"] : nil
  }

  func newTokens(
    _ request: WireRequest, _ reply: JSONValue, _ provided: ProvidedValues
  ) -> NewTokens? {
    // A token for the client itself belongs to nobody.
    guard request["grant_type"] != "client_credentials" else { return nil }
    var tokens = Self.tokens(reply)
    tokens?.audience = request["resource"]?
      .replacing("%3A", with: ":").replacing("%2F", with: "/")
    return tokens
  }

  func record(_ request: WireRequest, _ reply: JSONValue, in provided: ProvidedValues) {
    guard request["grant_type"] == "client_credentials",
      let token = reply["access_token"]?.stringValue
    else { return }
    provided.record(token, owner: nil)
    provided.record(ServiceWorkload.clientID, owner: nil)
  }

  func singleRequest(_ request: WireRequest, _ provided: ProvidedValues) -> SingleRequest? {
    request["code"].map {
      SingleRequest(name: "redemption of the code \($0)", postponements: [429, 503])
    }
  }

  /// Reads the reply of a token endpoint (RFC 6749 §5.1) with an ID token.
  static func tokens(_ reply: JSONValue) -> NewTokens? {
    guard let token = reply["access_token"]?.stringValue,
      let seconds = reply["expires_in"]?.integerValue
    else { return nil }
    let idToken = reply["id_token"]?.stringValue
    let claims = claims(of: idToken)
    var tokens = NewTokens(
      subject: claims?["sub"]?.stringValue, accessToken: token,
      refreshToken: reply["refresh_token"]?.stringValue, seconds: seconds)
    if let idToken, let begin = claims?["iat"]?.integerValue, let end = claims?["exp"]?.integerValue
    {
      tokens.idToken = (idToken, end - begin)
    }
    return tokens
  }

  /// Returns the claims of an ID token, without checking the token.
  private static func claims(of idToken: String?) -> JSONValue? {
    guard let part = idToken?.split(separator: ".").dropFirst().first else { return nil }
    var text = part.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    return try? JSONValue(parsing: Base64.decoded(String(text)) ?? [])
  }
}
