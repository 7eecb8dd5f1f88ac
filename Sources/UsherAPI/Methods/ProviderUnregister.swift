import JSONRPC
public import UsherCore

/// Deletes the daemon's registration as a client of a provider.
public struct ProviderUnregister: Method, Equatable {
  public static let name = "provider.unregister"
  public static let traits = MethodTraits(access: .admin, audit: .everything)
  public static let subject = Subject<Self>.provider(\.provider)
  public static let summary = "Deletes the daemon's registration as a client of a provider."
  public static let discussion = """
    The provider deletes the client and usually all its tokens (RFC 7592 §2.3); then the daemon \
    deletes what it has stored about the client. If the provider refuses or cannot be reached, the \
    daemon keeps the registration. `credential.delete` with the name `usherd.client.NAME` forgets \
    it without asking the provider.
    """

  /// The name of the provider.
  public var provider: ProviderName

  public init(provider: ProviderName) { self.provider = provider }

  public static let example = MethodExample(["provider": "work"], returns: [:])
}
