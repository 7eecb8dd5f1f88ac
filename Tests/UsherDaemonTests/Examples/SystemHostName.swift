public import UsherAPI

/// Returns the name of the host that the daemon runs on.
public struct SystemHostName: Method, Equatable {
  public static let name = "system.hostName"
  public static let traits = MethodTraits(access: .app, repetition: .always)
  public static let summary = "The name of the host that the daemon runs on."

  public init() {}

  public struct Reply: Codable, Sendable, Equatable {
    /// The name as the kernel reports it, such as `till-7`.
    public var hostName: String

    public init(hostName: String) {
      self.hostName = hostName
    }
  }
}
