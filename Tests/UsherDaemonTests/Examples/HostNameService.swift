import UsherCore

/// Reports the name of the host.
struct HostNameService: Sendable {
  /// Reads the name, without blocking; nil if the host has none.
  let read: @Sendable () -> String?

  func get() throws(UsherError) -> SystemHostName.Reply {
    guard let hostName = read(), !hostName.isEmpty else {
      throw UsherError(.notFound, "the host has no name; run: hostnamectl hostname NAME")
    }
    return SystemHostName.Reply(hostName: hostName)
  }
}
