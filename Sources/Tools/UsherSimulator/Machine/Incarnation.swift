import Logging
import NIOCore
import NIOEmbedded
import ServiceLifecycleTestKit
import UsherConfig
import UsherCore
import UsherDaemon
import UsherSystem
import UsherTransport

/// One run of the daemon, from its start to its end, on the state that earlier runs left.
final class Incarnation: @unchecked Sendable {
  enum State: Equatable {
    case starting, ready, stopped
    case failed(String)
  }

  let number: Int
  private(set) var state = State.starting
  private let loop: SocketLoop
  private let nioLoop = EmbeddedEventLoop()
  private var shutdown: GracefulShutdownTestTrigger?

  init(number: Int) throws {
    self.number = number
    loop = try SocketLoop.withoutThread()
  }

  var isStarting: Bool { state == .starting }
  var isReady: Bool { state == .ready }
  var hasEnded: Bool {
    switch state {
    case .starting, .ready: false
    case .stopped, .failed: true
    }
  }

  func start(_ setting: DaemonSetting, on executor: SimulatorExecutor, _ trace: Trace) {
    var setting = setting
    setting.executor = executor
    setting.blocking = executor
    setting.computing = executor
    setting.eventLoops = { [loop, nioLoop] in
      try EventLoops(timersMovedBy: $0, sockets: loop, providers: nioLoop, browsers: nioLoop)
    }
    setting.notifier = ServiceNotifier(watchdogInterval: nil) { [self] message in
      if message.hasPrefix("READY=1"), state == .starting {
        trace.note("daemon \(number) is ready")
        state = .ready
      }
    }
    Task(executorPreference: executor) { [self, setting] in
      do {
        try await testGracefulShutdown { trigger in
          shutdown = trigger
          try await Daemon(setting).run()
        }
        state = .stopped
      } catch {
        state = .failed(String(describing: error))
      }
      trace.note("daemon \(number): \(state)")
    }
  }

  /// Asks for an orderly stop, as SIGTERM does.
  func stop() { shutdown?.triggerGracefulShutdown() }

  /// Runs each event loop once.
  ///
  /// - Returns: Whether a loop had anything to do.
  func pollLoops() -> Bool {
    nioLoop.run()
    return hasEnded ? false : loop.runOnce()
  }

  var areLoopsAwaited: Bool { !hasEnded && loop.isAwaited }

  var nextLoopTimer: UInt64? { hasEnded ? nil : loop.nextTimer?.uptimeNanoseconds }
}
