package import UsherConfig
package import UsherCore

/// A call to Truecaller (provider contract §1.2; page Truecaller in Usher.docc).
///
/// `render(_:)` adds the app key. Most calls carry the access token itself, because there is no
/// account until the verification is over.
package enum TruecallerCall: ProviderCall {
  /// Requests a code. The server sends none if this installation has verified the number before.
  ///
  /// - Parameter installation: A UUID that identifies the owner's installation.
  case create(PhoneNumber, installation: String)
  case verify(PhoneNumber, code: Secret, token: Secret)
  /// Asks which number an access token belongs to, by the configured validation method.
  case validate(accessToken: Secret)
  /// Writes the user's name to the Truecaller profile.
  case update(TruecallerName, PhoneNumber, accessToken: Secret)
  case profile(PhoneNumber, accessToken: Secret)
  /// Reads the profile with the token of an account that an earlier flow stored without a profile.
  case keptProfile(PhoneNumber, AccountID)
  /// Fetches the public keys that verify signed profiles.
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

extension TruecallerSettings {
  /// Returns the base URL of the server that has the profiles of a country.
  ///
  /// - Parameter country: The country code in upper case. It is compared exactly with the vendor's
  ///   list (provider contract §10, trap 2).
  package func profileBase(of country: String) -> ProviderURL {
    Self.europe.contains(country) ? profileBaseURLEU : profileBaseURLNonEU
  }

  package var keysURL: String { paths.key.url(under: otpBaseURL) }

  /// The countries whose profiles are on the European server, as the SDK lists them (provider
  /// contract §1.2): 44 codes for 43 territories. The United Kingdom has two.
  private static let europe: Set = [
    "AT", "BE", "BG", "HR", "CY", "CZ", "DK", "EE", "FI", "FR", "DE", "GR", "HU", "IE", "IT", "LV",
    "LT", "LU", "MT", "NL", "PL", "PT", "RO", "SK", "SI", "ES", "SE", "UK", "GB", "IS", "LI", "NO",
    "CH", "AD", "FO", "GI", "GG", "IM", "JE", "MC", "SM", "SJ", "VA", "AX",
  ]
}
