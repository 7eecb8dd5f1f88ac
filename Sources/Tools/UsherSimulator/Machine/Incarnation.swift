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
    case starting, ready, stopped, killed
    case failed(String)
  }

  let number: Int
  private(set) var state = State.starting
  /// Whether an orderly stop was asked for.
  private(set) var isAskedToStop = false
  let life = Life()
  /// Called when the daemon is ready.
  var onReady: () -> Void = {}
  private let loop: SocketLoop
  private let nioLoop = EmbeddedEventLoop()
  private let root: String
  private let trace: Trace
  private var ports = 0
  private var shutdown: GracefulShutdownTestTrigger?

  /// - Parameter root: The directory of the machine, which another process has at another path.
  init(number: Int, root: String, _ trace: Trace) throws {
    self.number = number
    self.root = root
    self.trace = trace
    loop = try SocketLoop.withoutThread()
  }

  var isReady: Bool { state == .ready }
  var hasEnded: Bool {
    switch state {
    case .starting, .ready: false
    case .stopped, .killed, .failed: true
    }
  }

  func start(_ setting: DaemonSetting, on executor: SimulatorExecutor) {
    var setting = setting
    setting.executor = executor
    setting.blocking = executor
    setting.computing = executor
    setting.eventLoops = { [loop, nioLoop] in
      try EventLoops(timersMovedBy: $0, sockets: loop, providers: nioLoop, browsers: nioLoop)
    }
    setting.notifier = ServiceNotifier(watchdogInterval: nil) { [self] message in
      if message.hasPrefix("READY=1"), state == .starting {
        become(.ready)
        onReady()
      }
    }
    Task(executorPreference: executor) { [self, setting] in
      do {
        try await testGracefulShutdown { trigger in
          shutdown = trigger
          try await Daemon(setting).run()
        }
        become(.stopped)
      } catch {
        become(.failed(String(describing: error).replacing(root, with: "")))
      }
    }
  }

  private func become(_ new: State) {
    state = new
    trace.note("daemon \(number): \(new)")
  }

  /// Returns a listener for browsers. No browser finds it: people paste the address to which the
  /// provider sends them.
  func bindForBrowsers(_ address: SocketAddress) -> any Channel {
    let channel = EmbeddedChannel(loop: nioLoop)
    ports += 1
    channel.localAddress = address
    channel.localAddress?.port = address.port == 0 ? 40_000 + ports : address.port
    return channel
  }

  /// Runs what is submitted to the event loop of providers and browsers.
  func runNIO() {
    if state != .killed { nioLoop.run() }
  }

  /// Asks for an orderly stop, as SIGTERM does.
  func stop() {
    isAskedToStop = true
    shutdown?.triggerGracefulShutdown()
  }

  /// Ends the process at once, as SIGKILL does.
  func kill() {
    guard !hasEnded else { return }
    life.end()
    become(.killed)
    _ = Unmanaged.passRetained(self)
  }

  /// Runs each event loop once.
  ///
  /// - Returns: Whether a loop had anything to do.
  func pollLoops() -> Bool {
    runNIO()
    return hasEnded ? false : loop.runOnce()
  }

  var haveLoopsJobs: Bool { !hasEnded && loop.hasPendingJobs }

  var nextLoopTimer: UInt64? { hasEnded ? nil : loop.nextTimer?.uptimeNanoseconds }
}
