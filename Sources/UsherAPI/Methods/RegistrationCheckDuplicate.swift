import JSONRPC
public import UsherCore

/// Returns whether an e-mail address or a phone number is registered at a provider of type `bsa`.
///
/// The reply reveals who is registered, so the call fails with `permission_denied` if the
/// provider's configuration has `registration_checks = false`, and with `rate_limited` beyond
/// `limits.registration_checks_per_minute`. Calls of `registration.checkUserKey` by the same user
/// count towards the same limit.
public struct RegistrationCheckDuplicate: Method, Equatable {
  public static let name = "registration.checkDuplicate"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Returns whether an e-mail address or a phone number is registered at a provider of type `bsa`."
  public static let discussion = """
    The reply reveals who is a member. So the call fails with `permission_denied` if the \
    provider's configuration has `registration_checks = false`, and with `rate_limited` beyond \
    `limits.registration_checks_per_minute`. Calls of `registration.checkUserKey` by the same user \
    count towards the same limit.
    """

  /// The name of a provider of type `bsa`.
  public var provider: ProviderName
  /// Whether `verifyData` is an e-mail address or a phone number.
  public var verifyType: VerifyType
  /// The e-mail address or phone number.
  ///
  /// The provider decides whether it is one. Spaces, hyphens and parentheses of a phone number are
  /// removed. A blank text, one with control characters and one of more than 512 bytes give
  /// `invalid_params` with field `verifyData`.
  public var verifyData: String

  public init(provider: ProviderName, verifyType: VerifyType, verifyData: String) {
    self.provider = provider
    self.verifyType = verifyType
    self.verifyData = verifyData
  }

  /// The kind of ``RegistrationCheckDuplicate/verifyData``.
  public enum VerifyType: String, Codable, Sendable, CaseIterable {
    case email, phoneNumber
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// Whether somebody is registered with the address or number.
    public var duplicate: Bool

    public init(duplicate: Bool) { self.duplicate = duplicate }
  }

  public static let example = MethodExample(
    ["provider": "bank", "verifyType": "email", "verifyData": "ada@example.org"],
    returns: ["duplicate": false])
}
