import JSONRPC
import UsherConfig
import UsherCore

// The bytes that a connection makes the daemon hold. All of them count as unread replies: else a batch
// of which one call waits would keep the replies of all its other calls.
extension ConnectionHandler {
  /// A reply of up to so many bytes is kept even where too much is held: `calls_in_flight` bounds how
  /// many such replies there are, and the caller learns what its calls did.
  private static let shortReply = 4096

  /// Replies and events that wait or were not read, and what was read of calls that are not answered.
  var heldBytes: Int {
    transport.unsent + replies.count + batchedBytes + backlog.count + splitter.partialBytes
      + (unfinished?.bytes ?? 0) + feed.queuedBytes
  }

  private var isFull: Bool { heldBytes >= limits.unreadReplyBytes }

  /// Refuses a call of a batch before it is made, where batches that wait hold too much.
  ///
  /// Replies that are written do not count here: a connection whose caller reads slowly is not read
  /// while it has no room, so its next batch waits like any other line.
  ///
  /// - Returns: Whether it was refused. A notification has no reply to keep.
  func isRefusedAsFull(
    _ envelope: Envelope, _ line: UnsafeRawBufferPointer, _ origin: Origin
  ) -> Bool {
    guard batchedBytes >= limits.unreadReplyBytes, let id = envelope.id(in: line) else {
      return false
    }
    fail(
      id,
      UsherError(
        .overloaded,
        "this connection holds \(limits.unreadReplyBytes) bytes of replies: read them first",
        detail: .init(limit: "unread_reply_bytes")), origin)
    return true
  }

  /// Drops the reply of a call that waited, where it is long and the connection holds too much.
  ///
  /// - Throws: `overloaded`, not to be retried: the call was made.
  func checkRoom(for result: [UInt8]) throws(UsherError) {
    guard result.count > Self.shortReply, isFull else { return }
    throw UsherError(
      .overloaded,
      "the call was made and its reply dropped: this connection holds "
        + "\(limits.unreadReplyBytes) bytes of replies",
      detail: .init(limit: "unread_reply_bytes", retryable: false))
  }

  /// Drops the line that has begun, where it has no room beside the replies of batches that wait.
  func boundLine() {
    guard batchedBytes + splitter.partialBytes >= limits.unreadReplyBytes,
      splitter.partialBytes > Self.shortReply
    else { return }
    splitter.discardLine()
    refuse(
      .null,
      UsherError(
        .overloaded,
        "the line was dropped: this connection holds \(limits.unreadReplyBytes) bytes of replies",
        detail: .init(limit: "unread_reply_bytes")))
  }
}

extension Limits {
  /// What a connection of a caller may do: without any right there is nothing to say at length.
  func allowed(for caller: Caller) -> Limits {
    guard caller.isUnauthorized else { return self }
    var limits = self
    limits.maxLineBytes = min(maxLineBytes, 4096)
    limits.batch = 1
    return limits
  }
}
