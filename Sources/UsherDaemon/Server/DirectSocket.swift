import Glibc
import NIOCore

// Bytes as the kernel has them: all that is done here to memory or a descriptor by its address or
// number. Who calls it keeps the rules that it tells.

/// A connection's socket, written to past its channel: that spares half of what the way through NIO
/// costs.
struct DirectSocket {
  private let descriptor: NIOBSDSocket.Handle

  /// Nil where the channel has no socket, as in a test.
  init?(of context: ChannelHandlerContext) {
    let descriptor = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self
    ) { $0 }
    guard let descriptor else { return nil }
    self.descriptor = descriptor
  }

  /// Sends as much as the kernel takes at once.
  ///
  /// Only on the channel's event loop, while it is active: its descriptor is closed there, and it is
  /// not active from then on, before anybody else hears of it. And only while it has nothing to send
  /// itself.
  ///
  /// - Returns: How many bytes it took: none also where something is wrong. The channel finds out
  ///   what, with the next that it is given to send.
  func send(_ bytes: [UInt8]) -> Int {
    let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
    return bytes.withUnsafeBytes { max(0, Glibc.send(descriptor, $0.baseAddress, $0.count, flags)) }
  }
}

extension UnsafeRawBufferPointer {
  /// Overwrites bytes that nobody looks at again, whoever else holds them.
  func wipe() {
    guard let start = baseAddress else { return }
    explicit_bzero(UnsafeMutableRawPointer(mutating: start), count)
  }
}

extension [UInt8] {
  /// Overwrites them, and keeps the room.
  mutating func wipe() {
    withUnsafeBytes { $0.wipe() }
    removeAll(keepingCapacity: true)
  }
}
