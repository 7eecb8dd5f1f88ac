package import JSONRPC
import UsherAPI
package import UsherConfig

/// All flows there are: one more is one new file, and one line here.
package enum ProviderRegistry {
  package static func flows(of variety: ProviderVariety) -> [any FlowMachine.Type] {
    switch variety {
    case .oidc: [OIDCAuthorize.self, OIDCDevice.self]
    case .paysafe: [PaysafeAuthorize.self, PaysafeOperation.self, PaysafeSCA.self]
    case .truecaller: [VerifyPhone.self]
    case .gopay: [VerifyIdentity.self]
    case .freedomidDevice: [FreedomDeviceAuthorize.self]
    case .freedomidOAuth2:
      [
        FreedomPartnerAuthorize.self, FreedomRequestProfile.self, FreedomCreateUser.self,
        FreedomUpdateUser.self,
      ]
    case .freedomidOIDC: [OIDCAuthorize.self]
    case .bsa:
      [BSAAuthenticate.self, BSARegister.self, BSAReregisterDevice.self, BSAVerifyContact.self]
    case .local: [LocalAuthenticate.self]
    }
  }

  /// How the tokens of an account are handled.
  ///
  /// - Parameters:
  ///   - attributes: The account's.
  ///   - installation: What its owner is called at this provider; nil where that is not known.
  package static func tokens(
    of provider: ProviderConfig, attributes: [String: JSONValue], installation: String? = nil
  ) -> TokenHandling {
    switch provider.settings {
    case .oidc: .discovered { OIDCTokens(provider: provider, metadata: $0) }
    case .paysafe(let settings): .known(PaysafeTokens(settings, attributes))
    case .truecaller, .bsa, .local: .known(PlainTokens())
    case .gopay(let settings): .known(GoPayTokens(settings, attributes))
    case .freedomid(let settings):
      switch settings.mode {
      case .device, .oauth2:
        .known(FreedomIDTokens(mode: settings.mode, device: installation))
      case .oidc: .discovered { OIDCTokens(provider: provider, metadata: $0) }
      }
    }
  }

  /// The attributes of an account that ``tokens(of:attributes:installation:)`` reads.
  package static let tokenAttributes: Set<String> = [
    PaysafeTokens.brandAttribute, GoPayTokens.deviceAttribute,
  ]

  /// What shows whether the provider can be used; nil where there is nothing to ask so simply.
  package static func probe(of provider: ProviderConfig) -> ProviderProbe? {
    switch provider.settings {
    case .oidc: nil
    case .paysafe(let settings): .paysafe(provider, settings)
    case .truecaller: .truecaller
    case .gopay(let settings): .gopay(settings)
    case .freedomid(let settings): .freedomid(settings)
    case .bsa: .bsa
    case .local: nil
    }
  }

  /// What the provider may yet tell of an account; nil where there is nothing.
  ///
  /// - Parameter attributes: The account's.
  package static func followUp(
    of provider: ProviderConfig, attributes: [String: JSONValue]
  ) -> (any AccountFollowUp)? {
    switch provider.settings {
    case .oidc, .paysafe, .truecaller, .bsa, .local: nil
    case .gopay(let settings): IdentityVerdict(settings, attributes)
    case .freedomid: FreedomLogout(provider.name, attributes)
    }
  }

  /// How the provider calls back; nil where it does not, or is not listened to.
  package static func callback(of provider: ProviderConfig) -> (any CallbackDialect)? {
    switch provider.settings {
    case .oidc, .paysafe, .truecaller, .bsa, .local: nil
    case .gopay(let settings): GoPayCallback(settings)
    case .freedomid(let settings): FreedomLogoutCallback(settings)
    }
  }

  /// What brings an account of this type of provider, or brings it back.
  ///
  /// - Parameter isKnown: Whether there is an account to bring back.
  /// - Returns: The flow's kind, and whether its params may name the account.
  package static func signIn(
    of variety: ProviderVariety, isKnown: Bool = true
  ) -> (kind: String, namesAccount: Bool)? {
    flows(of: variety).first { isKnown || !$0.needsAccount }
      .map { ($0.kind, namesAccount($0)) }
  }

  private static func namesAccount<Machine: FlowMachine>(_ type: Machine.Type) -> Bool {
    guard case .object(let members) = StrictDecoding.schema(of: Machine.Params.self) else {
      return false
    }
    return members.contains { $0.name == "account" }
  }

  /// The one word for a grant that a person is asked for; nil for what is none at this type.
  ///
  /// - Parameter text: In any of its spellings.
  package static func grant(_ text: String, of variety: ProviderVariety) -> String? {
    switch variety {
    case .oidc, .paysafe, .truecaller, .gopay, .freedomidOIDC, .bsa, .local: nil
    case .freedomidDevice: DataGrant(either: text)?.rawValue
    case .freedomidOAuth2: PartnerGrant(either: text)?.text
    }
  }

  /// Whether the access tokens of this type of provider have a scope that a part of can be asked for.
  package static func hasScopes(_ variety: ProviderVariety) -> Bool {
    switch variety {
    case .oidc, .paysafe, .freedomidOIDC: true
    // The grants of one consent are all that its token has.
    case .truecaller, .gopay, .freedomidDevice, .freedomidOAuth2, .bsa, .local: false
    }
  }

  /// Nil where providers of this type have no such flow.
  package static func flow(_ kind: String, of variety: ProviderVariety) -> (any FlowMachine.Type)? {
    flows(of: variety).first { $0.kind == kind }
  }
}
