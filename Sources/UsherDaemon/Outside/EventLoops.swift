import NIOCore
import NIOPosix
import UsherTransport

/// Threads of the event loops.
struct EventLoops {
  /// The loop of the daemon's own sockets.
  let sockets: SocketLoop
  /// The loop of requests to providers, providers' callbacks, and timers.
  let providers: any EventLoopGroup
  /// The loop of browser redirects to loopback addresses; slow work elsewhere does not delay it.
  let browsers: any EventLoopGroup

  /// - Parameter shift: The shift of the timers on the sockets' loop; nil if they follow the
  ///   machine's clock.
  /// - Throws: `internalError` if the process has no descriptors or threads left.
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
