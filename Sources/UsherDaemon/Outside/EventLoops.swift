import NIOCore
import NIOPosix

/// The threads that wait for sockets.
struct EventLoops {
  /// Serves the daemon's own sockets.
  let sockets: SocketLoop
  /// Carries what the daemon asks of providers and what these call back, and its timers.
  let providers: any EventLoopGroup
  /// Serves browsers that come back to the loopback; slow work elsewhere does not delay it.
  let browsers: any EventLoopGroup

  /// - Parameter shift: Moves the timers of the sockets' loop; nil: they follow this machine's clock.
  /// - Throws: `internalError` where the process has no descriptors or threads left.
  init(timersMovedBy shift: LoopTimeShift?) throws {
    sockets = try SocketLoop(timersMovedBy: shift)
    providers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    browsers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
  }

  func stop() async throws {
    try await browsers.shutdownGracefully()
    try await providers.shutdownGracefully()
    await sockets.stop()
  }
}
