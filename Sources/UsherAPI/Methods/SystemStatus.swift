import JSONRPC
public import UsherCore

/// Returns the state of the daemon and of its providers.
public struct SystemStatus: Method, Equatable {
  public static let name = "system.status"
  public static let traits = MethodTraits(
    access: .app, audience: .everybody, repetition: .always, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns the state of the daemon and of its providers."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The version of the daemon.
    public var version: String
    /// The number of seconds since the daemon was started.
    public var uptimeSeconds: Int
    /// Whether the daemon answers all methods; false while it is locked.
    public var ready: Bool
    /// True while the daemon is locked; otherwise absent.
    public var locked: Bool?
    /// The configured providers that the caller may use.
    public var providers: [Provider]
    /// The number of unfinished flows: the caller's own, or all on the admin socket.
    public var flows: Int
    /// The number of open connections: those of the caller's user, or all on the admin socket.
    public var connections: Int
    /// The state of the database; only on the admin socket, and not while the daemon is locked.
    public var store: Store?
    /// The origin of the master key. Only on the admin socket, and not while the daemon is locked.
    public var masterKey: String?
    /// Whether the database has a recovery key. Only on the admin socket, and not while the daemon
    /// is locked.
    public var hasRecoveryKey: Bool?
    /// How the daemon identifies peer processes: `pidfd`, or `pid` if the kernel does not support
    /// `SO_PEERPIDFD`. Only on the admin socket.
    public var peerIdentity: String?

    public init(
      version: String, uptimeSeconds: Int, ready: Bool, locked: Bool? = nil,
      providers: [Provider], flows: Int, connections: Int, store: Store? = nil,
      masterKey: String? = nil, hasRecoveryKey: Bool? = nil, peerIdentity: String? = nil
    ) {
      self.version = version
      self.uptimeSeconds = uptimeSeconds
      self.ready = ready
      self.locked = locked
      self.providers = providers
      self.flows = flows
      self.connections = connections
      self.store = store
      self.masterKey = masterKey
      self.hasRecoveryKey = hasRecoveryKey
      self.peerIdentity = peerIdentity
    }
  }

  public struct Provider: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the provider.
    public var name: ProviderName
    /// The type of the provider.
    public var type: String
    /// `ok` if the provider's last reply was valid, `failing` if the last call did not reach it or
    /// its reply could not be parsed, `unknown` if it has not been called since the start or a
    /// change of its settings.
    public var health: Health

    public init(name: ProviderName, type: String, health: Health) {
      self.name = name
      self.type = type
      self.health = health
    }
  }

  public enum Health: String, Codable, Sendable, CaseIterable {
    /// The provider's last reply was valid.
    case ok
    /// The provider has not been called since the daemon was started or unlocked, or since the
    /// provider's settings changed.
    case unknown
    /// The last call did not reach the provider, or its reply could not be parsed.
    case failing
  }

  public struct Store: Codable, Sendable, Equatable, SchemaDocumented {
    /// The path of the database.
    public var path: String
    /// The version of the database's schema.
    public var schemaVersion: Int
    /// The size of the database in bytes.
    public var sizeBytes: Int

    public init(path: String, schemaVersion: Int, sizeBytes: Int) {
      self.path = path
      self.schemaVersion = schemaVersion
      self.sizeBytes = sizeBytes
    }
  }

  public static let example = MethodExample(
    [:],
    returns: [
      "version": "1.0.0", "uptimeSeconds": 3600, "ready": true,
      "providers": [["name": "work", "type": "oidc", "health": "ok"]], "flows": 1,
      "connections": 2,
    ])
}
