import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A TLS server on the loopback interface that counts requests and answers them all alike.
final class TLSServer: Sendable {
  enum Answer: Sendable {
    /// A complete reply. The connection stays open.
    case whole(String)
    /// A part of a reply, after which the server closes TCP without TLS's close_notify.
    case cut(String)
    /// A part of a reply, after which the server resets TCP.
    case reset(String)
    /// Bytes that are no valid TLS record, instead of a reply.
    case brokenRecord
  }

  private let channel: any Channel
  private let seen: SeenRequests

  /// - Parameter change: Changes NIOSSL's defaults for a server.
  init(
    _ answer: Answer, _ change: @Sendable (inout TLSConfiguration) -> Void = { _ in }
  ) async throws {
    let chain = try NIOSSLCertificate.fromPEMBytes(Array(Self.certificate.utf8))
    let key = try NIOSSLPrivateKey(bytes: Array(Self.key.utf8), format: .pem)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    change(&configuration)
    let context = try NIOSSLContext(configuration: configuration)
    let seen = SeenRequests()
    self.seen = seen
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(BelowTLS(), name: BelowTLS.name)
          try pipeline.addHandler(NIOSSLServerHandler(context: context))
          try pipeline.addHandler(AnsweringHandler(answer, seen))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  var url: String { "https://127.0.0.1:\(channel.localAddress?.port ?? 0)/token" }

  /// The number of requests that arrived completely.
  var requests: Int { seen.count.withLock { $0 } }

  func close() async throws { try await channel.close() }

  /// Made with `openssl req -x509 -newkey ec` for 127.0.0.1 and localhost, for a hundred years.
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBmzCCAUGgAwIBAgIUGZAUKYkb0+H3RbppRhdKekKMGrgwCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjIwNDE1N1oYDzIxMjYxMDI5
    MjA0MTU3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAARZTeC5Ka3nE7G5bpBW+ZIngWsW4/OXmhkZ2nehIYSrR4ohHf2n9Rp3
    yBo1N8DvzDutSLmNQE4T4LgK3k2217LAo28wbTAdBgNVHQ4EFgQUGWPTi8WCk012
    SSacWhlB/+Zpx7MwHwYDVR0jBBgwFoAUGWPTi8WCk012SSacWhlB/+Zpx7MwDwYD
    VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
    zj0EAwIDSAAwRQIgJb1YPnO8MqC9Sjm+PvPTQa0pqhN5/anD8Z2sfvrY/SoCIQDB
    peZvETUfdRUNv+0QzN7eZNCNdhI+eFQxOIYyzmiWrw==
    -----END CERTIFICATE-----

    """

  private static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg126CJKmCNfri46DL
    Jx49uz2XqI8mPxkwlxg4IwQwpG+hRANCAARZTeC5Ka3nE7G5bpBW+ZIngWsW4/OX
    mhkZ2nehIYSrR4ohHf2n9Rp3yBo1N8DvzDutSLmNQE4T4LgK3k2217LA
    -----END PRIVATE KEY-----

    """
}

private final class SeenRequests: Sendable {
  let count = Mutex(0)
}

/// A position in the pipeline from which bytes and closes bypass TLS.
private final class BelowTLS: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  static let name = "below TLS"
}

private final class AnsweringHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let answer: TLSServer.Answer
  private let seen: SeenRequests
  private var received = ""
  private var isAnswered = false

  init(_ answer: TLSServer.Answer, _ seen: SeenRequests) {
    self.answer = answer
    self.seen = seen
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received += String(buffer: unwrapInboundIn(data))
    guard isWhole, !isAnswered else { return }
    isAnswered = true
    seen.count.withLock { $0 += 1 }
    do {
      let below = try context.pipeline.syncOperations.context(name: BelowTLS.name)
      switch answer {
      case .whole(let text): say(text, context)
      case .cut(let text):
        say(text, context)
        below.close(mode: .all, promise: nil)
      case .reset(let text):
        say(text, context)
        _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(
          linger(l_onoff: 1, l_linger: 0))
        below.close(mode: .all, promise: nil)
      case .brokenRecord:
        let bytes = [0x17, 0x03, 0x03, 0x00, 0x20] + [UInt8](repeating: 0x41, count: 32)
        below.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
      }
    } catch {
      context.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func say(_ text: String, _ context: ChannelHandlerContext) {
    guard !text.isEmpty else { return }
    context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
  }

  private var isWhole: Bool {
    let parts = received.split(
      separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return false }
    let length =
      parts[0].lowercased().split(separator: "\r\n")
      .compactMap { $0.hasPrefix("content-length: ") ? Int($0.dropFirst(16)) : nil }.first ?? 0
    return parts[1].utf8.count >= length
  }
}
