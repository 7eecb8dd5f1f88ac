public import UsherCore

/// Whether the daemon is well, and how it stands with its providers.
public struct SystemStatus: Method, Equatable {
  public static let name = "system.status"
  public static let traits = MethodTraits(
    access: .app, audience: .everybody, repetition: .always, worksLocked: true)
  public static let summary = "Whether the daemon is well, and how it stands with its providers."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    public var version: String
    public var uptimeSeconds: Int
    /// Whether it hands out what callers ask for: it does not while it is locked.
    public var ready: Bool
    /// True from `system.lock` to `system.unlock`; else absent.
    public var locked: Bool?
    public var providers: [Provider]
    /// Live flows: the caller's own; on the admin socket all.
    public var flows: Int
    /// Likewise.
    public var connections: Int
    /// On the admin socket only.
    public var store: Store?
    /// Where the master key came from. On the admin socket only.
    public var masterKey: String?
    /// Whether a recovery key opens the store too. On the admin socket only, and not while locked.
    public var hasRecoveryKey: Bool?
    /// `pidfd`, or `pid` where the kernel has no SO_PEERPIDFD. Admin socket only.
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

  public struct Provider: Codable, Sendable, Equatable {
    public var name: ProviderName
    public var type: String
    public var health: Health

    public init(name: ProviderName, type: String, health: Health) {
      self.name = name
      self.type = type
      self.health = health
    }
  }

  public enum Health: String, Codable, Sendable, CaseIterable {
    /// Its last answer was sound.
    case ok
    /// It has not been asked since the start.
    case unknown
    /// The last call did not reach it, or its answer could not be read.
    case failing
  }

  public struct Store: Codable, Sendable, Equatable {
    public var path: String
    public var schemaVersion: Int
    public var sizeBytes: Int

    public init(path: String, schemaVersion: Int, sizeBytes: Int) {
      self.path = path
      self.schemaVersion = schemaVersion
      self.sizeBytes = sizeBytes
    }
  }
}
