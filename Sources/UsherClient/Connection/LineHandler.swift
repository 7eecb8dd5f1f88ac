import JSONRPC
import NIOCore

/// Splits the received bytes into lines and passes the lines to the connection.
///
/// The handling of a line may write or close. If the daemon has closed its side, NIO then reads the
/// remaining bytes and calls ``channelRead(context:data:)`` again before the first call has
/// returned. Lines are therefore queued first, and only the outermost call handles them, in order.
final class LineHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private enum PendingLine {
    case line([UInt8])
    case tooLong
  }

  private var splitter: LineSplitter
  private var pendingLines: [PendingLine] = []
  private var isDraining = false
  private let connection: Connection

  init(_ connection: Connection, maxReplyBytes: Int) {
    self.connection = connection
    splitter = LineSplitter(maxLineBytes: maxReplyBytes)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    unwrapInboundIn(data).withUnsafeReadableBytes { chunk in
      splitter.feed(chunk) { event in
        switch event {
        case .line(let line): pendingLines.append(.line(Array(line)))
        case .tooLong: pendingLines.append(.tooLong)
        }
      }
    }
    drain()
  }

  private func drain() {
    guard !isDraining else { return }
    isDraining = true
    defer { isDraining = false }
    while !pendingLines.isEmpty {
      let batch = pendingLines
      pendingLines = []
      for pending in batch {
        switch pending {
        case .line(let line): line.withUnsafeBytes { connection.handle($0) }
        case .tooLong: connection.close(.replyTooLarge)
        }
      }
    }
  }

  func channelInactive(context: ChannelHandlerContext) { connection.close(.lost) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.close(.lost) }
}
