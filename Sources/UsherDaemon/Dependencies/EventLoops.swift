package import NIOCore
import NIOPosix
package import UsherTransport

/// The event loops of the daemon, each with its own thread unless a test or a simulation passes
/// others.
package struct EventLoops: Sendable {
  /// The event loop of the daemon's own Unix sockets.
  let sockets: SocketLoop
  /// The event loop for requests to providers, for providers' callbacks, and for timers.
  let providers: any EventLoopGroup
  /// The event loop for browser redirects to loopback addresses. It is separate, so that slow work
  /// on the other loops does not delay a browser, and a flood of browsers does not delay other
  /// work.
  let browsers: any EventLoopGroup

  /// Creates the event loops that are not passed. ``stop()`` stops the passed loops too.
  ///
  /// - Parameter shift: The shift of the timers on the sockets' loop, for tests; nil if they follow
  ///   the machine's clock.
  /// - Throws: `internalError` if the process has no descriptors or threads left.
  package init(
    timersMovedBy shift: LoopTimeShift?, sockets: SocketLoop? = nil,
    providers: (any EventLoopGroup)? = nil, browsers: (any EventLoopGroup)? = nil
  ) throws {
    self.sockets = try sockets ?? SocketLoop(timersMovedBy: shift)
    self.providers = providers ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
    self.browsers = browsers ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
  }

  func stop() async throws {
    try await browsers.shutdownGracefully()
    try await providers.shutdownGracefully()
    await sockets.stop()
  }
}
