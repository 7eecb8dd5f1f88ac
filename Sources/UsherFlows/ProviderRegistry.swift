package import JSONRPC
package import UsherConfig

/// All flows there are: one more is one new file, and one line here.
package enum ProviderRegistry {
  package static func flows(of type: ProviderType) -> [any FlowMachine.Type] {
    switch type {
    case .oidc: [OIDCAuthorize.self, OIDCDevice.self]
    case .paysafe: [PaysafeAuthorize.self, PaysafeOperation.self, PaysafeSCA.self]
    case .truecaller: [VerifyPhone.self]
    }
  }

  /// How the tokens of an account are handled.
  ///
  /// - Parameter attributes: The account's.
  package static func tokens(
    of provider: ProviderConfig, attributes: [String: JSONValue]
  ) -> TokenHandling {
    switch provider.settings {
    case .oidc: .discovered { OIDCTokens(provider: provider, metadata: $0) }
    case .paysafe(let settings): .known(PaysafeTokens(settings, attributes))
    case .truecaller: .known(TruecallerTokens())
    }
  }

  /// What shows whether the provider can be used; nil where there is nothing to ask so simply.
  package static func probe(of provider: ProviderConfig) -> ProviderProbe? {
    switch provider.settings {
    case .oidc: nil
    case .paysafe(let settings): .paysafe(provider, settings)
    case .truecaller: .truecaller
    }
  }

  /// Nil where providers of this type have no such flow.
  package static func flow(_ kind: String, of type: ProviderType) -> (any FlowMachine.Type)? {
    flows(of: type).first { $0.kind == kind }
  }
}
