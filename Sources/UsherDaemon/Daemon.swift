import Logging
import NIOCore
import ServiceLifecycle
import UsherConfig
import UsherCore
import UsherSystem
import UsherTransport

/// The daemon as a service of swift-service-lifecycle, composed of all its parts.
///
/// ``run()`` returns after an orderly stop. It throws an error with a message for the operator if
/// the daemon cannot start.
package struct Daemon: ServiceLifecycle.Service {
  private let setting: DaemonSetting

  package init(_ setting: DaemonSetting) { self.setting = setting }

  package func run() async throws {
    let loops = try setting.eventLoops(setting.timeShift)
    let result = await Result(awaiting: { () async throws in try await serve(on: loops) })
    try await loops.stop()
    try result.get()
  }

  private func serve(on loops: EventLoops) async throws {
    let configStore = ConfigStore(setting.config, try setting.policy(of: setting.config))
    let dependencies = Dependencies(setting, configStore, timersOn: loops.providers.any())
    let processContext = ProcessContext(
      setting, dependencies, on: loops.providers, browsers: loops.browsers, serving: loops.sockets)
    let lockController = LockController(processContext)
    try await lockController.begin()
    let service = RPCService(lockController)
    let acceptor = ConnectionAcceptor(service)
    await readSubordinates(dependencies)
    let listening = try await listen(on: loops.sockets, acceptor)
    await lockController.resume()
    setting.notifier.ready(status: lockController.status)
    Task.detached(executorPreference: dependencies.executor, priority: .background) {
      service.table.warm()
      // The start of the daemon needs more memory than the calls that follow.
      FreeMemory.release(keeping: 0)
    }
    setting.log.notice("ready", metadata: ["version": .string(Version.current)])
    let reloads = Task(executorPreference: dependencies.executor) { await reload(lockController) }
    await maintain(lockController, dependencies, watching: loops.sockets)
    reloads.cancel()
    await stop(listening, acceptor, lockController)
  }

  private func listen(
    on loop: SocketLoop, _ acceptor: ConnectionAcceptor
  ) async throws -> [SocketServer] {
    var servers: [SocketServer] = []
    for (name, path, mode, isAdmin) in [
      ("usherd.sock", setting.socketPath, UInt32(0o666), false),
      ("usherd-admin.sock", setting.adminSocketPath, UInt32(0o600), true),
    ] {
      let passed = setting.passedSockets[name]
      let descriptor = try passed ?? setting.sockets.bind(path, mode)
      servers.append(
        try await SocketServer.serve(
          descriptor, path: passed == nil ? path : nil, isAdmin: isAdmin, on: loop,
          acceptor: acceptor, removing: setting.sockets.unlink))
    }
    return servers
  }

  /// Reloads the configuration on each SIGHUP, until cancelled.
  private func reload(_ lockController: LockController) async {
    for await _ in setting.reloadSignals {
      // Problems have been logged already. `run()` throws only when the daemon stops.
      _ = try? await Reload(lockController: lockController).run()
    }
  }

  /// Removes expired data and releases free memory once a minute, and pings systemd's watchdog from
  /// the event loop of the sockets, until the daemon is asked to stop.
  private func maintain(
    _ lockController: LockController, _ dependencies: Dependencies, watching loop: SocketLoop
  ) async {
    let notifier = setting.notifier
    let ping = notifier.watchdogInterval.map { interval in
      loop.scheduleRepeatedTask(every: TimeAmount(interval)) { notifier.pingWatchdog() }
    }
    let sweeps = Task(executorPreference: dependencies.executor) {
      while !Task.isCancelled {
        do throws(UsherError) {
          try await lockController.sweep()
        } catch {
          // The stop of the daemon interrupts the sweep; the sweep after the next start repeats it.
          guard !Task.isCancelled else { break }
          setting.log.warning(
            "expired data could not be removed; the next sweep tries again",
            metadata: ["cause": "\(error.message)"])
        }
        await dependencies.blocking.run { FreeMemory.release() }
        await dependencies.scheduler.pause(.seconds(60))
        await readSubordinates(dependencies)
      }
    }
    await withTaskCancellationOrGracefulShutdownHandler {
      await sweeps.value
    } onCancelOrGracefulShutdown: {
      sweeps.cancel()
    }
    ping?.cancel()
  }

  /// Reads the map of subordinate ids from `/etc/subuid`; if that fails, the earlier map is kept.
  private func readSubordinates(_ dependencies: Dependencies) async {
    switch await dependencies.subordinates.read(within: .seconds(5), in: dependencies) {
    case .done, .cancelled: break
    case .partial(let gaps):
      for warning in gaps.warnings { setting.log.warning("\(warning)") }
    case .unreadable:
      setting.log.warning("/etc/subuid cannot be read; check its permissions: \(Self.withoutMap)")
    case .timedOut:
      setting.log.warning("the user database does not answer: \(Self.withoutMap)")
    }
  }

  private static let withoutMap =
    "the subordinate ids read last stay in effect; if there are none, uids from "
    + "\(SubordinateUsers.firstUnsure) on count as subordinate ids of unknown users"

  /// Answers the calls that were received, stores the responses that providers are sending, then
  /// closes all sockets and the store.
  private func stop(
    _ servers: [SocketServer], _ acceptor: ConnectionAcceptor, _ lockController: LockController
  ) async {
    let (dependencies, waits) = (
      lockController.processContext.dependencies, lockController.processContext.waits
    )
    let limits = dependencies.config.limits
    setting.notifier.stopping()
    setting.notifier.extendTimeout(by: limits.maxStopDuration)
    setting.log.notice("stopping")
    for server in servers { await server.close() }
    waits.end()
    await acceptor.drain(within: limits, dependencies.scheduler)
    await lockController.end()
  }
}

extension Limits {
  /// Upper bound for shutdown: drain time, grace for unread replies, provider time-outs.
  fileprivate var maxStopDuration: Duration {
    .seconds(drainSeconds + unreadReplySeconds + 5) + LockController.shutdownGracePeriod * 2
  }
}

extension Daemon: CustomStringConvertible {
  /// The name that loggers print for the service.
  package var description: String { "usherd" }
}
