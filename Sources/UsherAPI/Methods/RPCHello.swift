import JSONRPC

/// Exchanges names, versions and limits between client and daemon. Clients may send it as their
/// first call, but need not.
public struct RPCHello: Method, Equatable {
  public static let name = "rpc.hello"
  public static let traits = MethodTraits(access: .app, audience: .everybody, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary = "Exchanges names, versions and limits; an optional first call."
  public static let discussion = "Clients may send it as their first call, but need not."

  /// The protocol versions that the client supports. The daemon supports only version 1, and
  /// refuses a list without it with `invalid_params`.
  public var `protocol`: [Int]?
  /// The name and the version of the client, for the journal.
  public var client: Client?

  public init(`protocol`: [Int]? = nil, client: Client? = nil) {
    self.protocol = `protocol`
    self.client = client
  }

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The version of the protocol on this connection: 1.
    public var `protocol`: Int
    /// The daemon.
    public var server: Server
    /// The limits for callers, by their keys in the section `limits` of the configuration.
    public var limits: [String: Int]
    /// The id of the running daemon; each start creates a new one.
    public var instanceId: String

    public init(`protocol`: Int, server: Server, limits: [String: Int], instanceId: String) {
      self.protocol = `protocol`
      self.server = server
      self.limits = limits
      self.instanceId = instanceId
    }
  }

  public struct Client: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name of the client.
    public var name: String
    /// The version of the client.
    public var version: String

    public init(name: String, version: String) {
      self.name = name
      self.version = version
    }
  }

  public struct Server: Codable, Sendable, Equatable, SchemaDocumented {
    /// The version of the daemon.
    public var version: String

    public init(version: String) { self.version = version }
  }

  public static let example = MethodExample(
    ["protocol": [1], "client": ["name": "till", "version": "2.1"]],
    returns: [
      "protocol": 1, "server": ["version": "1.0.0"], "limits": ["batch": 64],
      "instanceId": "5f0c",
    ])
}
