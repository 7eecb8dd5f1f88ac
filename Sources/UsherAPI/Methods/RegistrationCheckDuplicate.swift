public import UsherCore

/// Whether somebody at a provider of type `bsa` has an e-mail address or a phone number (the page BSA
/// of the daemon's documentation).
///
/// It tells who is a member: `permission_denied` unless `registration_checks` is on in the provider's
/// configuration, and `rate_limited` beyond `registration_checks_per_minute`, which a user's
/// `registration.checkUserKey` counts for too.
public struct RegistrationCheckDuplicate: Method, Equatable {
  public static let name = "registration.checkDuplicate"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everything, isConfirmable: true)
  public static let summary = "Whether somebody has an e-mail address or a phone number already."

  public var provider: ProviderName
  public var verifyType: VerifyType
  /// An e-mail address has one `@` with something on both sides and at most 254 bytes; a phone number
  /// 7 to 15 digits, with or without `+` before them, and blanks, hyphens and brackets that are left
  /// out. Anything else is `invalid_params`, with field `verifyData`.
  public var verifyData: String

  public init(provider: ProviderName, verifyType: VerifyType, verifyData: String) {
    self.provider = provider
    self.verifyType = verifyType
    self.verifyData = verifyData
  }

  /// What ``RegistrationCheckDuplicate/verifyData`` is.
  public enum VerifyType: String, Codable, Sendable, CaseIterable {
    case email, phoneNumber
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var duplicate: Bool

    public init(duplicate: Bool) {
      self.duplicate = duplicate
    }
  }
}
