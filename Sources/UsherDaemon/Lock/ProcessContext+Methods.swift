import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

// The methods that can be answered without the services, that is, also while the daemon is locked.
extension ProcessContext {
  func hello(
    _ call: RPCHello, on connection: any ConnectionLink
  ) throws(UsherError) -> RPCHello.Reply {
    if let versions = call.protocol, !versions.contains(1) {
      throw UsherError(.invalidParams, "this usherd supports protocol 1 only", field: "protocol")
    }
    return .init(
      protocol: 1, server: .init(version: Version.current),
      limits: try dependencies.config.limits.on(connection).byName(), instanceId: instanceID)
  }

  /// Returns the status of a locked daemon, which does not know its store's and providers' state.
  func lockedStatus(_ caller: Caller) -> SystemStatus.Reply {
    let visible = dependencies.config.providers.filter {
      caller.may(ProviderGet.name, provider: $0.name)
    }
    // The uptime is never negative, even if the clock is set back.
    let uptime = max(.zero, dependencies.clock.monotonicNow() - started)
    return .init(
      version: Version.current, uptimeSeconds: Int(uptime.components.seconds), ready: false,
      locked: true,
      providers: visible.map { .init(name: $0.name, type: $0.type, health: .unknown) }, flows: 0,
      connections: count.count(of: caller.isAdmin ? nil : caller.uid),
      peerIdentity: caller.isAdmin ? peerIdentity : nil)
  }

  /// How the daemon identifies connected processes: by pidfd, or by process id on older kernels.
  private var peerIdentity: String {
    dependencies.sockets.tellsPeerByDescriptor() ? "pidfd" : "pid"
  }
}

extension Limits {
  /// Returns the configured limits, but those that are fixed for the life of a connection as they
  /// are for this connection.
  fileprivate func on(_ connection: any ConnectionLink) -> Limits {
    let fixed: [WritableKeyPath<Limits, Int>] = [
      \.maxLineBytes, \.nesting, \.lineSeconds, \.batch, \.callsInFlight, \.unreadReplyBytes,
      \.unreadReplySeconds, \.eventQueue,
    ]
    var limits = self
    for limit in fixed { limits[keyPath: limit] = connection.limits[keyPath: limit] }
    return limits
  }

  /// Returns every limit by its key in the configuration.
  fileprivate func byName() throws(UsherError) -> [String: Int] {
    let encoded = try ReplyEncoder.encode(self)
    let members = try? JSONValue(parsing: encoded).objectValue
    return (members ?? [:]).compactMapValues { $0.integerValue.map(Int.init) }
  }
}
