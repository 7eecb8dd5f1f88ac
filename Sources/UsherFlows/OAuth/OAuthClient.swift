package import UsherConfig
import UsherCore

/// The daemon's identity as a client of an OAuth provider.
package struct OAuthClient: Sendable, Equatable {
  package var id: String
  /// The name under which the client secret is stored in the credential store; nil for a public
  /// client.
  package var credential: String?
  package var auth: OIDCClientAuth
  /// The security profile that limits how the client authenticates itself.
  package var profile = OIDCProfile.none

  /// Whether another method of authentication is tried if the provider refuses one.
  package var triesMethods: Bool { credential != nil && auth == .auto }
}
