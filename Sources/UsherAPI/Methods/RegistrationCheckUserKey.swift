import JSONRPC
public import UsherCore

/// Returns whether a user key is available at a provider of type `bsa`.
///
/// The reply reveals who is registered, so the call fails with `permission_denied` if the
/// provider's configuration has `registration_checks = false`, and with `rate_limited` beyond
/// `limits.registration_checks_per_minute`. Calls of `registration.checkDuplicate` by the same user
/// count towards the same limit. Another person may take an available key before it is registered.
public struct RegistrationCheckUserKey: Method, Equatable {
  public static let name = "registration.checkUserKey"
  public static let traits = MethodTraits(
    access: .app, repetition: .always, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary = "Returns whether a user key is available at a provider of type `bsa`."
  public static let discussion = """
    The reply reveals who is a member. So the call fails with `permission_denied` if the \
    provider's configuration has `registration_checks = false`, and with `rate_limited` beyond \
    `limits.registration_checks_per_minute`. Calls of `registration.checkDuplicate` by the same \
    user count towards the same limit. Another person may take an available key before it is \
    registered.
    """

  /// The name of a provider of type `bsa`.
  public var provider: ProviderName
  /// The user key. The provider decides which keys it accepts. A blank text, `.`, `..`, a text with
  /// control characters and one of more than 512 bytes give `invalid_params` with field `userKey`.
  public var userKey: String

  public init(provider: ProviderName, userKey: String) {
    self.provider = provider
    self.userKey = userKey
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// Whether nobody is registered with the user key.
    public var available: Bool

    public init(available: Bool) { self.available = available }
  }

  public static let example = MethodExample(
    ["provider": "bank", "userKey": "ada.l"], returns: ["available": true])
}
