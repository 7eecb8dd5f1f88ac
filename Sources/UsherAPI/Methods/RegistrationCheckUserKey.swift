public import UsherCore

/// Whether a user key is free at a provider of type `bsa` (the page BSA of the daemon's
/// documentation).
///
/// It tells who is a member: `permission_denied` unless `registration_checks` is on in the provider's
/// configuration, and `rate_limited` beyond `registration_checks_per_minute`, which a user's
/// `registration.checkDuplicate` counts for too. A key that is free may be taken before it is
/// registered.
public struct RegistrationCheckUserKey: Method, Equatable {
  public static let name = "registration.checkUserKey"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everything, isConfirmable: true)
  public static let summary = "Whether a user key is free."

  public var provider: ProviderName
  /// 4 to 64 of letters, digits and `._-@`, not dots alone; anything else is `invalid_params`, with
  /// field `userKey`.
  public var userKey: String

  public init(provider: ProviderName, userKey: String) {
    self.provider = provider
    self.userKey = userKey
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var available: Bool

    public init(available: Bool) {
      self.available = available
    }
  }
}
