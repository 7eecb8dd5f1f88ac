import JSONRPC

@testable public import UsherAPI

/// Returns the name of the host that the daemon runs on.
public struct SystemHostName: Method, Equatable {
  public static let name = "system.hostName"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let subject = Subject<Self>.method
  public static let summary = "Returns the name of the host that the daemon runs on."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable, SchemaDocumented {
    /// The name as the kernel reports it, such as `till-7`.
    public var hostName: String

    public init(hostName: String) {
      self.hostName = hostName
    }
  }

  public static let example = MethodExample([:], returns: ["hostName": "till-7"])
}
