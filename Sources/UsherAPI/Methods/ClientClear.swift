public import UsherCore

/// Forget what the calling client has at a provider: the SDK's `clear`.
///
/// Its live flows are cancelled and its consents taken back. The accounts that its flows brought are
/// forgotten, and their tokens revoked at the provider where it can be done; an account of which
/// another client was granted something stays as it is.
public struct ClientClear: Method, Equatable {
  public static let name = "client.clear"
  public static let traits = MethodTraits(access: .app, audit: .everything, isConfirmable: true)
  public static let summary = "Forget what the calling client has at a provider."

  public var provider: ProviderName

  public init(provider: ProviderName) {
    self.provider = provider
  }

  public struct Reply: Codable, Sendable, Equatable {
    /// Flows.
    public var cancelled: Int
    /// Accounts that are gone.
    public var forgotten: Int
    /// Accounts that stay, of those that the client brought or was granted something of.
    public var kept: Int

    public init(cancelled: Int, forgotten: Int, kept: Int) {
      self.cancelled = cancelled
      self.forgotten = forgotten
      self.kept = kept
    }
  }
}
