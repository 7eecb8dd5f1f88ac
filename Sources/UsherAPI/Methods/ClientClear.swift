import JSONRPC
public import UsherCore

/// Removes everything that the calling client has at a provider; the equivalent of `clear` in the
/// providers' SDKs.
///
/// Cancels the client's unfinished flows and withdraws its consents. Deletes the accounts that its
/// flows created, and revokes their tokens if the provider supports it. An account stays if another
/// client holds a consent for it.
public struct ClientClear: Method, Equatable {
  public static let name = "client.clear"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary =
    "Removes what the calling client has at a provider: flows, consents and accounts."
  public static let discussion = """
    Cancels the client's unfinished flows and withdraws its consents. Deletes the accounts that \
    its flows created, and revokes their tokens if the provider supports it. An account stays if \
    another client holds a consent for it.
    """

  /// The name of the provider.
  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The number of cancelled flows.
    public var cancelled: Int
    /// The number of deleted accounts.
    public var forgotten: Int
    /// The number of accounts that were not deleted although the client created them or held a
    /// consent for them.
    public var kept: Int

    public init(cancelled: Int, forgotten: Int, kept: Int) {
      self.cancelled = cancelled
      self.forgotten = forgotten
      self.kept = kept
    }
  }

  public static let example = MethodExample(
    ["provider": "work"], returns: ["cancelled": 1, "forgotten": 1, "kept": 0])
}
