import Glibc
import NIOCore

/// Sends lines, each whole or known not to have been; on the event loop of its channel only.
///
/// A daemon that stops hears no more on a connection and still answers there what it has heard. NIO
/// closes a channel whose write is refused, and those answers would be lost: so lines go to the
/// kernel directly, and through the channel only where the kernel has no room for a line.
final class LineWriter {
  enum Outcome {
    case written
    /// Nothing of it has arrived, and nothing that is sent later will.
    case refused
    /// It has arrived when this is done; where it fails, it has not, or not whole.
    case queued(EventLoopFuture<Void>)
  }

  private let channel: any Channel
  /// Lines that the channel has taken and not sent.
  private var waiting = 0

  init(_ channel: any Channel) { self.channel = channel }

  /// - Parameter line: With its end.
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
