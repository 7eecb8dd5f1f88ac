import NIOCore
import NIOHTTP1
import NIOPosix
import UsherSystem

// The common part of the loopback listeners for browser redirects and for providers' callbacks.

extension ServerBootstrap {
  /// Returns the bootstrap of an HTTP listener on a loopback address.
  ///
  /// - Parameter accept: Returns the handler for a new connection; nil closes the connection.
  static func loopback(
    on group: any EventLoopGroup, _ dependencies: Dependencies,
    _ accept: @escaping @Sendable (any Channel) -> (any ChannelHandler)?
  ) -> ServerBootstrap {
    ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 64)
      .serverChannelInitializer { [scheduler = dependencies.scheduler] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptPause(scheduler))
        }
      }
      .childChannelInitializer { [descriptors = dependencies.descriptors] channel in
        guard descriptors.hasRoom(for: .caller), let handler = accept(channel) else {
          return channel.close()
        }
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: true)
          try channel.pipeline.syncOperations.addHandler(handler)
        }
      }
  }
}

extension Channel {
  /// Writes an HTTP response and closes the connection.
  func answer(_ status: Int, _ headers: HTTPHeaders, _ body: ByteBuffer) {
    eventLoop.execute { [self] in
      var headers = headers
      headers.add(name: "content-length", value: String(body.readableBytes))
      headers.add(name: "connection", value: "close")
      let head = HTTPResponseHead(
        version: .http1_1, status: .init(statusCode: status), headers: headers)
      write(HTTPServerResponsePart.head(head), promise: nil)
      write(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
      writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in self.close(promise: nil) }
    }
  }
}

/// Pauses accepting for 100 ms when file descriptors have run out. Otherwise accepting would fail
/// again at once.
final class AcceptPause: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let scheduler: any Scheduler

  init(_ scheduler: any Scheduler) { self.scheduler = scheduler }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let channel = context.channel
    channel.setOption(.autoRead, value: false).whenComplete { _ in }
    _ = scheduler.after(.milliseconds(100)) {
      channel.setOption(.autoRead, value: true).whenComplete { _ in }
    }
  }
}
