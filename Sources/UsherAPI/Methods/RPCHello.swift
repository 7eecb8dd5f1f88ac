import JSONRPC

/// Exchanges names, versions and limits between client and daemon. Clients may send it as their
/// first call, but need not.
public struct RPCHello: Method, Equatable {
  public static let name = "rpc.hello"
  public static let traits = MethodTraits(access: .app, audience: .everybody, worksLocked: true)
  public static let subject = Subject<Self>.method
  public static let summary = "Exchanges names, versions and limits; an optional first call."

  /// The protocol versions that the client supports. The daemon supports only version 1, and
  /// refuses a list without it with `invalid_params`.
  public var `protocol`: [Int]?
  public var client: Client?

  public init(`protocol`: [Int]? = nil, client: Client? = nil) {
    self.protocol = `protocol`
    self.client = client
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var `protocol`: Int
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

extension RPCHello {
  public static let discussion = "Clients may send it as their first call, but need not."

  public static let example = MethodExample(
    ["protocol": [1], "client": ["name": "till", "version": "2.1"]],
    returns: [
      "protocol": 1, "server": ["version": "1.0.0"], "limits": ["batch": 64],
      "instanceId": "5f0c",
    ])

  public static let memberDescriptions: [String: String] = [
    "protocol": """
    The protocol versions that the client supports. The daemon supports only version 1, and \
    refuses a list without it with `invalid_params`.
    """,
    "client": "The name and the version of the client, for the journal.",
  ]
}

extension RPCHello.Reply: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "protocol": "The version of the protocol on this connection: 1.",
    "server": "The daemon.",
    "limits": "The limits for callers, by their keys in the section `limits` of the configuration.",
    "instanceId": "The id of the running daemon; each start creates a new one.",
  ]
}

extension RPCHello.Client: SchemaDocumented {
  public static let memberDescriptions: [String: String] = [
    "name": "The name of the client.",
    "version": "The version of the client.",
  ]
}

extension RPCHello.Server: SchemaDocumented {
  public static let memberDescriptions = ["version": "The version of the daemon."]
}
