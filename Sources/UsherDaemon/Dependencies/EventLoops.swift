package import NIOCore
import NIOPosix
package import UsherTransport

/// Event loops of the daemon, each with its own thread unless a test passes others.
package struct EventLoops: Sendable {
  /// The loop of the daemon's own sockets.
  let sockets: SocketLoop
  /// The loop of requests to providers, providers' callbacks, and timers.
  let providers: any EventLoopGroup
  /// The loop of browser redirects to loopback addresses; slow work elsewhere does not delay it.
  let browsers: any EventLoopGroup

  /// Creates the loops that are not passed. ``stop()`` stops the others, too.
  ///
  /// - Parameter shift: The shift of the timers on the sockets' loop; nil if they follow the
  ///   machine's clock.
  /// - Throws: `internalError` if the process has no descriptors or threads left.
  package init(
    timersMovedBy shift: LoopTimeShift?, providers: (any EventLoopGroup)? = nil,
    browsers: (any EventLoopGroup)? = nil
  ) throws {
    sockets = try SocketLoop(timersMovedBy: shift)
    self.providers = providers ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
    self.browsers = browsers ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
  }

  func stop() async throws {
    try await browsers.shutdownGracefully()
    try await providers.shutdownGracefully()
    await sockets.stop()
  }
}
