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
  /// The path of the file with the assertion by which the client authenticates itself in place of a
  /// credential; nil if there is none.
  package var assertionFile: String?

  /// Whether another method of authentication is tried if the provider refuses one.
  package var triesMethods: Bool { credential != nil && auth == .auto }
}
