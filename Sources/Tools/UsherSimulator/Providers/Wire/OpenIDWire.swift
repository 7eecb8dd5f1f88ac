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
    Self.tokens(reply)
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
    return NewTokens(
      subject: subject(reply["id_token"]?.stringValue), accessToken: token,
      refreshToken: reply["refresh_token"]?.stringValue, seconds: seconds)
  }

  /// Returns the `sub` claim of an ID token, without checking the token.
  private static func subject(_ idToken: String?) -> String? {
    guard let part = idToken?.split(separator: ".").dropFirst().first else { return nil }
    var text = part.replacing("-", with: "+").replacing("_", with: "/")
    text += String(repeating: "=", count: (4 - text.count % 4) % 4)
    let claims = try? JSONValue(parsing: Base64.decoded(String(text)) ?? [])
    return claims?["sub"]?.stringValue
  }
}
