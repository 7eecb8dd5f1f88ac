import FoundationEssentials
import Glibc
package import JSONRPC
import NIOCore
import NIOPosix
import Synchronization

/// A Unix socket at which a test acts as the daemon.
///
/// The script runs once for each connection, which is closed when the script returns.
package final class FakeDaemon: Sendable {
  package typealias Script = @Sendable (Peer) async throws -> Void

  package let path: String
  private let server: any Channel
  private let connected: Connections

  /// The number of connections accepted so far.
  package var connections: Int { connected.value.withLock { $0.count } }

  package static func run<T>(
    at path: String = freshPath(), _ script: @escaping Script,
    _ body: (FakeDaemon) async throws -> T
  ) async throws -> T {
    let daemon = try await FakeDaemon(path, script)
    defer { removeFolder(of: path) }
    do {
      let result = try await body(daemon)
      try await daemon.close()
      return result
    } catch {
      try await daemon.close()
      throw error
    }
  }

  /// Closes the socket and every connection, so that later messages of a client cannot arrive.
  private func close() async throws {
    try await server.close()
    for connection in connected.value.withLock({ $0 }) { try? await connection.close() }
  }

  /// Removes the folder of a path from ``freshPath()``, with its contents.
  package static func removeFolder(of path: String) {
    try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent())
  }

  /// Runs `body` with the folder of a path in place, which an earlier daemon may have removed.
  package static func inFolder(of path: String, _ body: () async throws -> Void) async throws {
    let folder = URL(filePath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await body()
  }

  /// Returns a socket path in a new folder, short enough for a socket address.
  package static func freshPath() -> String {
    var name = Array("/tmp/usher-test-XXXXXX".utf8CString)
    mkdtemp(&name)
    return String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self) + "/s"
  }

  private init(_ path: String, _ script: @escaping Script) async throws {
    self.path = path
    let connected = Connections()
    self.connected = connected
    server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let index = connected.value.withLock { connections in
            connections.append(channel)
            return connections.count
          }
          let (lines, feed) = AsyncStream.makeStream(of: [UInt8].self)
          try channel.pipeline.syncOperations.addHandler(Lines(feed))
          let peer = Peer(index: index, channel: channel, lines: lines)
          Task {
            try? await script(peer)
            channel.close(promise: nil)
          }
        }
      }
      .bind(unixDomainSocketPath: path).get()
  }

  private final class Connections: Sendable {
    let value = Mutex<[any Channel]>([])
  }

  private final class Lines: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let feed: AsyncStream<[UInt8]>.Continuation
    private var splitter = LineSplitter()

    init(_ feed: AsyncStream<[UInt8]>.Continuation) { self.feed = feed }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      unwrapInboundIn(data).withUnsafeReadableBytes { chunk in
        splitter.feed(chunk) { event in
          if case .line(let line) = event { feed.yield(Array(line)) }
        }
      }
    }

    func channelInactive(context: ChannelHandlerContext) { feed.finish() }
  }
}

extension FakeDaemon {
  /// The test's end of a connection.
  package final class Peer: Sendable {
    /// The number of the connection, from 1.
    package let index: Int
    private let channel: any Channel
    private let lines: AsyncStream<[UInt8]>

    package struct Gone: Error {}

    init(index: Int, channel: any Channel, lines: AsyncStream<[UInt8]>) {
      self.index = index
      self.channel = channel
      self.lines = lines
    }

    /// Returns the next call or notification. Replies to `rpc.hello` calls that come before it.
    package func next() async throws -> Call {
      while true {
        let call = try await nextOfAny()
        guard call.method == "rpc.hello" else { return call }
        try await reply(
          call, #"{"protocol":1,"server":{"version":"0"},"limits":{},"instanceId":"i"}"#)
      }
    }

    package func nextOfAny() async throws -> Call {
      for await line in lines { return Call(try JSONValue(parsing: line)) }
      throw Gone()
    }

    package func reply(_ call: Call, _ result: String) async throws {
      try await write(#"{"jsonrpc":"2.0","id":\#(call.id),"result":\#(result)}"#)
    }

    package func fail(_ call: Call, _ error: String) async throws {
      try await write(#"{"jsonrpc":"2.0","id":\#(call.id),"error":\#(error)}"#)
    }

    package func notify(_ method: String, _ params: String) async throws {
      try await write(#"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"#)
    }

    /// Stops reading, as a daemon does that shuts down: the kernel refuses what the client sends.
    package func stopReading() async throws {
      let channel = channel
      try await channel.setOption(.allowRemoteHalfClosure, value: true).get()
      try await channel.eventLoop.submit {
        _ = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
          of: NIOBSDSocket.Handle.self
        ) { shutdown($0, Int32(SHUT_RD)) }
      }.get()
    }

    package func writeAndForget(_ line: String) {
      channel.writeAndFlush(ByteBuffer(string: line + "\n"), promise: nil)
    }

    /// Writes a line without changes.
    package func write(_ line: String) async throws {
      try await channel.writeAndFlush(ByteBuffer(string: line + "\n"))
    }
  }

  /// A message from the client.
  package struct Call: Sendable {
    package let json: JSONValue

    package init(_ json: JSONValue) { self.json = json }

    package var method: String { json["method"]?.stringValue ?? "" }
    package var params: JSONValue { json["params"] ?? [:] }
    /// The id as JSON; `null` for a notification.
    package var id: String { String(decoding: (json["id"] ?? .null).encoded(), as: UTF8.self) }
  }
}
