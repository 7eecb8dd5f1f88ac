package import JSONRPC
package import UsherConfig

/// All flows there are: one more is one new file, and one line here.
package enum ProviderRegistry {
  package static func flows(of type: ProviderType) -> [any FlowMachine.Type] {
    switch type {
    case .oidc: [OIDCAuthorize.self, OIDCDevice.self]
    case .paysafe: [PaysafeAuthorize.self, PaysafeOperation.self, PaysafeSCA.self]
    case .truecaller: [VerifyPhone.self]
    case .gopay: []
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
    case .gopay(let settings): .known(GoPayTokens(settings))
    }
  }

  /// What shows whether the provider can be used; nil where there is nothing to ask so simply.
  package static func probe(of provider: ProviderConfig) -> ProviderProbe? {
    switch provider.settings {
    case .oidc: nil
    case .paysafe(let settings): .paysafe(provider, settings)
    case .truecaller: .truecaller
    case .gopay: nil
    }
  }

  /// What is still to be learnt about an account of this provider; nil where there is nothing.
  ///
  /// - Parameter attributes: The account's.
  package static func followUp(
    of provider: ProviderConfig, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    switch provider.settings {
    case .oidc, .paysafe, .truecaller, .gopay: nil
    }
  }

  /// How the provider calls back; nil where it does not, or is not listened to.
  package static func callback(of provider: ProviderConfig) -> (any CallbackDialect)? {
    switch provider.settings {
    case .oidc, .paysafe, .truecaller, .gopay: nil
    }
  }

  /// Nil where providers of this type have no such flow.
  package static func flow(_ kind: String, of type: ProviderType) -> (any FlowMachine.Type)? {
    flows(of: type).first { $0.kind == kind }
  }
}
