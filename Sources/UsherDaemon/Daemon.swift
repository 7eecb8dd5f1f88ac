import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import UsherConfig
import UsherCore
import UsherStore
import UsherSystem

/// What the daemon is made of, put together once.
///
/// ``run()`` returns when it has been asked to stop and has stopped in order; it throws where it
/// cannot start, with a sentence for the operator.
package struct Daemon: ServiceLifecycle.Service {
  /// Seconds that calls in flight have to be answered when the daemon stops.
  static let grace = Duration.seconds(2)
  /// Seconds that providers have to finish an answer when the daemon stops.
  static let patience = Duration.seconds(5)

  private let setting: DaemonSetting
  private let log = Logger(label: "usherd")

  package init(_ setting: DaemonSetting) { self.setting = setting }

  package func run() async throws {
    let sockets = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let outside = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let result: Result<Void, any Error>
    do {
      result = .success(try await serve(on: sockets, outside))
    } catch {
      result = .failure(error)
    }
    try await outside.shutdownGracefully()
    try await sockets.shutdownGracefully()
    try result.get()
  }

  private func serve(
    on sockets: any EventLoopGroup, _ outside: any EventLoopGroup
  ) async throws {
    let world = World(
      config: setting.config, clock: setting.clock, entropy: setting.entropy,
      alarms: EventLoopAlarms(on: outside.any()))
    // A database without its key must not get a new one: that would hide the loss.
    let key = try MasterKeySource(credentials: setting.credentials)
      .load(stateDirectory: setting.stateDirectory, generating: !setting.hasDatabase)
    let store = try openStore(key)
    let events = EventBus(
      remembered: 1024, startingAt: Int(setting.clock.now().milliseconds))
    let parts = try Parts(setting, world, store, key, events, on: outside, log)
    try parts.restore()
    let table = MethodTable(parts.domain)
    let service = RPCService(table: table, events: events, world: world, log: log)
    let door = Door(
      service: service, policy: try setting.policy(), realm: DaemonSetting.realm,
      count: parts.domain.count, log: log)
    let callbacks = try await parts.listenForProviders()
    let listening = try await listen(on: sockets, door)
    parts.resume()
    setting.notifier.ready(status: "Serving \(setting.config.providers.count) providers")
    Task.detached(priority: .background) { table.warm() }
    log.notice("ready", metadata: ["version": .string(Version.current)])
    await upkeep(parts, world.alarms, watching: sockets.any())
    for listener in callbacks { await listener.close() }
    await stop(listening, door, parts)
    try store.close()
  }

  private func openStore(_ key: MasterKey) throws -> Store {
    try key.bytes.withUnsafeBytes { bytes throws(UsherError) in
      try Store.open(
        path: setting.databasePath, masterKey: Array(bytes), clock: setting.clock,
        entropy: setting.entropy)
    }
  }

  private func listen(
    on group: any EventLoopGroup, _ door: Door
  ) async throws -> [SocketServer] {
    var servers: [SocketServer] = []
    for (name, path, mode, isAdmin) in [
      ("usherd.sock", setting.socketPath, UInt32(0o666), false),
      ("usherd-admin.sock", setting.adminSocketPath, UInt32(0o600), true),
    ] {
      let passed = setting.passedSockets[name]
      let descriptor = try passed ?? UnixListener.bind(path: path, mode: mode, creatingParent: true)
      servers.append(
        try await SocketServer.serve(
          descriptor, path: passed == nil ? path : nil, isAdmin: isAdmin, on: group, door: door))
    }
    return servers
  }

  /// Sweeps once a minute, and pings the watchdog from the loop that serves, until asked to stop.
  private func upkeep(
    _ parts: Parts, _ alarms: any Alarms, watching loop: any EventLoop
  ) async {
    let notifier = setting.notifier
    let ping = notifier.watchdogInterval.map { interval in
      loop.scheduleRepeatedTask(initialDelay: .zero, delay: TimeAmount(interval)) { _ in
        notifier.pingWatchdog()
      }
    }
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do throws(UsherError) {
          try await parts.sweep()
        } catch {
          log.warning("old flows could not be removed", metadata: ["cause": "\(error.message)"])
        }
        await alarms.pause(.seconds(60))
      }
    }
    ping?.cancel()
  }

  private func stop(_ servers: [SocketServer], _ door: Door, _ parts: Parts) async {
    setting.notifier.stopping()
    log.notice("stopping")
    for server in servers { await server.close() }
    door.service.drain()
    await door.drain(grace: Self.grace)
    await parts.stop(within: Self.patience)
  }
}

extension Daemon: CustomStringConvertible {
  /// Loggers print services: a name will do.
  package var description: String { "usherd" }
}
