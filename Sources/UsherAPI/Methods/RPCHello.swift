/// Tell each other name, version and limits; an optional first call.
public struct RPCHello: Method, Equatable {
  public static let name = "rpc.hello"
  public static let traits = MethodTraits(access: .app, audience: .everybody, worksLocked: true)
  public static let summary = "Tell each other name, version and limits; an optional first call."

  /// The protocol versions the client speaks; this daemon speaks 1.
  public var `protocol`: [Int]?
  public var client: Client?

  public init(`protocol`: [Int]? = nil, client: Client? = nil) {
    self.protocol = `protocol`
    self.client = client
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var `protocol`: Int
    public var server: Server
    /// Every limit a caller can reach, by its key in the configuration.
    public var limits: [String: Int]
    /// Changes with every start of the daemon.
    public var instanceId: String

    public init(`protocol`: Int, server: Server, limits: [String: Int], instanceId: String) {
      self.protocol = `protocol`
      self.server = server
      self.limits = limits
      self.instanceId = instanceId
    }
  }

  public struct Client: Codable, Sendable, Equatable {
    public var name: String
    public var version: String

    public init(name: String, version: String) {
      self.name = name
      self.version = version
    }
  }

  public struct Server: Codable, Sendable, Equatable {
    public var version: String

    public init(version: String) { self.version = version }
  }
}
