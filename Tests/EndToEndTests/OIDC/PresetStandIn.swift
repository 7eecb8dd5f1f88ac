import JSONRPC
import Testing
import UsherTestKit

/// A preset at the stand-in for its service in the sandbox, and what the service is documented to
/// do.
struct PresetStandIn: Sendable {
  /// The path of the issuer or of the base URL.
  let path: String
  /// The setting with the address of the service.
  var address = "issuer"
  /// The client secret; nil for a public client.
  var secret: String?
  /// More lines of the `[[provider]]`, with `BASE` in place of the sandbox's address.
  var more = ""
  /// The path below ``path`` at which an access token is accepted.
  var api = "userinfo"
  /// The seconds for which an access token is valid; nil: it does not expire.
  var lifetime: Int64?
  /// Whether a sign-in in the browser gets a refresh token.
  var hasRefreshToken = true
  /// What `account.forget` reports as `revoked`.
  var revoked = "done"
  /// Whether there is a device flow.
  var hasDeviceFlow = true

  /// The stand-ins by the names of the presets. A new preset needs an entry, and its service a
  /// stand-in in the sandbox.
  static let all: [String: PresetStandIn] = [
    "github": .init(
      path: "github", address: "base_url", secret: "s3cret-github",
      more: """
        paths.userinfo = "/api/user"
        paths.revocation = "/api/applications/{client_id}/token"
        """, api: "api/user", hasRefreshToken: false),
    "atlassian": .init(
      path: "atlassian", address: "base_url", secret: "s3cret:atlassian/+=",
      more: "paths.userinfo = \"/me\"", api: "me", lifetime: 3600, revoked: "skipped",
      hasDeviceFlow: false),
    "slack": .init(
      path: "slack", address: "base_url", secret: "s3cret-slack", api: "api/auth.test",
      hasRefreshToken: false, hasDeviceFlow: false),
    "google": .init(path: "google", secret: "s3cret-google", lifetime: 3599),
    "microsoft": .init(
      path: "microsoft/8f0c7a52-7a5e-4e61-9a77-0d9f1f6f1c11/v2.0",
      more: "redirect = \"localhost\"", lifetime: 3599, revoked: "skipped"),
    "gitlab": .init(
      path: "gitlab", secret: "s3cret-gitlab",
      more: "endpoints.device_authorization = \"BASE/gitlab/device_authorization\"",
      lifetime: 7200),
    "codeberg": .init(
      path: "codeberg", secret: "s3cret-codeberg", lifetime: 3600, revoked: "skipped"),
    "huggingface": .init(
      path: "huggingface", lifetime: 28_800, hasRefreshToken: false, revoked: "skipped"),
  ]

  /// Returns the `[[provider]]` with which the preset leads to the stand-in.
  func provider(_ preset: String, at base: String) -> String {
    """
    [[provider]]
    name = "\(preset)"
    preset = "\(preset)"
    \(address) = "\(base)/\(path)"
    client_id = "usher-\(preset)"
    \(secret == nil ? "" : "client_credential = \"\(preset)-secret\"")
    \(more.replacing("BASE", with: base))

    """
  }
}
