package import UsherConfig
package import UsherCore

/// What is asked of Truecaller (contract §1.2; the page Truecaller of the documentation).
///
/// The app key comes with rendering. Access tokens stand in the calls themselves: there is no account
/// before the verification is over.
package enum TruecallerCall: ProviderCall {
  /// Has a code sent, unless this installation has verified the number before.
  ///
  /// - Parameter installation: A UUID of the owner's own.
  case create(PhoneNumber, installation: String)
  case verify(PhoneNumber, code: Secret, token: Secret)
  /// Asks whose access token it is, in the configured generation's way.
  case validate(accessToken: Secret)
  /// Writes the name.
  case update(TruecallerName, PhoneNumber, accessToken: Secret)
  case profile(PhoneNumber, accessToken: Secret)
  /// Reads the profile with the token of an account that was kept without one.
  case keptProfile(PhoneNumber, AccountID)
  /// The keys that profiles are signed with.
  case keys

  package var name: String {
    switch self {
    case .create: "create"
    case .verify: "verify"
    case .validate: "validate"
    case .update: "profile_update"
    case .profile, .keptProfile: "profile"
    case .keys: "key"
    }
  }

  package var account: AccountID? {
    if case .keptProfile(_, let account) = self { account } else { nil }
  }
}

extension ProviderConfig {
  /// The settings of a provider of type `truecaller`.
  package var truecaller: TruecallerSettings {
    switch settings {
    case .truecaller(let settings): return settings
    case .oidc, .paysafe, .gopay, .freedomid, .bsa, .local:
      fatalError("provider \(name) is of type \(settings.type) and not asked so")
    }
  }
}

extension TruecallerSettings {
  /// Where the profiles of a country's people are.
  ///
  /// - Parameter country: In upper case, for the vendor's list is compared exactly (contract §10,
  ///   trap 2).
  package func profileBase(of country: String) -> ProviderURL {
    Self.europe.contains(country) ? profileBaseURLEU : profileBaseURLNonEU
  }

  package var keysURL: String { paths.key.url(under: otpBaseURL) }

  /// The SDK's list (contract §1.2): 44 codes of 43 territories, the United Kingdom by both of its.
  private static let europe: Set = [
    "AT", "BE", "BG", "HR", "CY", "CZ", "DK", "EE", "FI", "FR", "DE", "GR", "HU", "IE", "IT", "LV",
    "LT", "LU", "MT", "NL", "PL", "PT", "RO", "SK", "SI", "ES", "SE", "UK", "GB", "IS", "LI", "NO",
    "CH", "AD", "FO", "GI", "GG", "IM", "JE", "MC", "SM", "SJ", "VA", "AX",
  ]
}
