import JSONRPC
import UsherConfig
import UsherCore

/// The definition of providers that speak OpenID Connect and publish their metadata (OIDC
/// Discovery).
struct OIDCProvider: ProviderDefinition {
  static let flows: [any FlowMachine.Type] = [
    OIDCAuthorize.self, OIDCDevice.self, OIDCClientCredentials.self, OIDCJWTBearerGrant.self,
    OIDCIdentityAssertionGrant.self, OIDCBackchannel.self, OIDCEndSession.self,
  ]

  /// The value of the attribute `grant` of an account of the client itself.
  static let clientGrant = "client_credentials"
  /// The value of the attribute `grant` of an account whose tokens are got by an assertion.
  static let assertionGrant = "jwt_bearer"
  /// The value of the attribute `grant` of an account of a person of another provider.
  static let identityGrant = "identity_assertion"

  let provider: Provider<OIDCSettings>
}

/// The parts of the definition that all providers have whose flows are those of OpenID Connect.
extension ProviderDefinition where Settings == OIDCSettings {
  static var hasScopes: Bool { true }
  static var hasIDTokens: Bool { true }

  func tokens(attributes: [String: JSONValue], installation: String?) -> TokenHandling {
    .discovered { [provider] in OIDCTokens(provider: provider, metadata: $0) }
  }

  var credentialNames: [String] {
    [
      settings.clientCredential, settings.protection.decryptionCredential,
      settings.jwtBearer.keyCredential,
    ].compactMap(\.self).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  func flaw(of credential: Secret, named name: String) -> String? {
    if name == settings.protection.decryptionCredential {
      guard let key = DecryptionKey(pem: credential) else { return DecryptionKey.flaw }
      if let flaw = settings.protection.encryptions.lazy.compactMap(key.flaw(for:)).first {
        return flaw
      }
    }
    if name == settings.jwtBearer.keyCredential, let flaw = keyFlaw(credential) { return flaw }
    guard name == settings.clientCredential else { return nil }
    if settings.clientAuth.usesCertificate {
      do throws(InvalidValue) {
        _ = try ClientCertificate(pem: credential, named: name, of: provider.name)
        return nil
      } catch {
        return error.message
      }
    }
    if let flaw = settings.clientAuth.flaw(of: credential) { return flaw }
    guard settings.clientAuth == .privateKeyJWT || ClientKey.isPEM(credential) else { return nil }
    return keyFlaw(credential)
  }

  private func keyFlaw(_ credential: Secret) -> String? {
    do throws(InvalidValue) {
      _ = try ClientKey(pem: credential, permittedBy: settings.profile)
      return nil
    } catch {
      return error.message
    }
  }

  var oauthClient: OAuthClient {
    OAuthClient(
      id: settings.clientID, credential: settings.clientCredential, auth: settings.clientAuth,
      profile: settings.profile, assertionFile: settings.clientAssertionFile)
  }
}
