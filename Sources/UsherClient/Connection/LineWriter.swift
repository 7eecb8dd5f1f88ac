import Glibc
import NIOCore

/// Sends lines and reports whether each was sent completely. Used only on its channel's event loop.
///
/// A stopping daemon shuts down reading on a connection and still sends the outstanding replies.
/// NIO closes a channel after a failed write, and those replies would be lost. Lines are therefore
/// sent with send(2), and through the channel only if the socket buffer has no room for a whole
/// line.
final class LineWriter {
  enum Outcome {
    case written
    /// No byte of the line was sent, and later lines cannot be sent either.
    case refused
    /// The channel sends the rest. The future succeeds when the whole line is sent; if it fails,
    /// the line was sent in part at most.
    case queued(EventLoopFuture<Void>)
  }

  private let channel: any Channel
  /// The number of lines that the channel has queued.
  private var waiting = 0

  init(_ channel: any Channel) { self.channel = channel }

  /// Sends a line.
  ///
  /// - Parameter line: The line with its line feed.
  func write(_ line: [UInt8]) -> Outcome {
    guard waiting == 0 else { return queue(line[...]) }
    let count = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { socket in
      let count = send(socket, line, line.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : count
    }
    guard let count, count >= 0 else { return .refused }
    return count == line.count ? .written : queue(line[count...])
  }

  private func queue(_ bytes: ArraySlice<UInt8>) -> Outcome {
    waiting += 1
    let sent = channel.writeAndFlush(ByteBuffer(bytes: bytes))
    sent.assumeIsolated().whenComplete { [self] _ in waiting -= 1 }
    return .queued(sent)
  }
}
