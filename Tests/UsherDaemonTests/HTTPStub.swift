import NIOCore
import NIOPosix
import Synchronization

/// An HTTP/1.1 server on the loopback interface. It answers one request per connection at a time.
final class HTTPStub: Sendable {
  struct Request: Sendable {
    /// The server's origin, such as `http://127.0.0.1:PORT`.
    let origin: String
    let path: String
    let body: String
  }

  struct Reply: Sendable {
    var status = 200
    var json = "{}"
  }

  private let server: any Channel

  init(_ answer: @escaping @Sendable (Request) async -> Reply) async throws {
    server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { $0.pipeline.addHandler(StubConnection(answer)) }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  var origin: String { Self.origin(of: server) }

  func close() async throws { try await server.close() }

  fileprivate static func origin(of channel: any Channel) -> String {
    "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
  }
}

private final class StubConnection: ChannelInboundHandler, Sendable {
  typealias InboundIn = ByteBuffer

  private let answer: @Sendable (HTTPStub.Request) async -> HTTPStub.Reply
  private let received = Mutex("")

  init(_ answer: @escaping @Sendable (HTTPStub.Request) async -> HTTPStub.Reply) {
    self.answer = answer
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let text = String(buffer: unwrapInboundIn(data))
    let channel = context.channel
    let request = received.withLock { received -> HTTPStub.Request? in
      received += text
      guard let request = HTTPStub.Request(received, at: HTTPStub.origin(of: channel)) else {
        return nil
      }
      received = ""
      return request
    }
    guard let request else { return }
    Task { [answer] in
      let reply = await answer(request)
      let text = """
        HTTP/1.1 \(reply.status) Said\r\nContent-Type: application/json\r\n\
        Content-Length: \(reply.json.utf8.count)\r\n\r\n\(reply.json)
        """
      channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }
  }
}

extension HTTPStub.Request {
  /// - Returns: The request, or `nil` if it is incomplete.
  fileprivate init?(_ text: String, at origin: String) {
    guard let gap = text.firstRange(of: "\r\n\r\n") else { return nil }
    let lines = text[..<gap.lowerBound].split(separator: "\r\n")
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count == 3 else { return nil }
    let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.split(separator: " ").last ?? "") }
    let body = text[gap.upperBound...]
    guard body.utf8.count >= length ?? 0 else { return nil }
    self.init(origin: origin, path: String(words[1]), body: String(body))
  }
}
