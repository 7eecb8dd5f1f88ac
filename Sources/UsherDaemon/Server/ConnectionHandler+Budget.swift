import JSONRPC
import UsherConfig
import UsherCore
import UsherTransport

// Bytes that a connection makes the daemon hold. All of them count as unread replies: otherwise a
// batch with one waiting call could hold the replies of all its other calls.
extension ConnectionHandler {
  /// Maximum length in bytes of a reply that is kept even if the connection holds too much.
  /// `calls_in_flight` bounds the number of such replies, and the caller learns what its calls did.
  private static let shortReply = 4096

  /// The bytes of unsent replies, queued events, and input whose calls are not answered yet.
  var heldBytes: Int {
    transport.unsent + replies.count + batchedBytes + backlog.count + splitter.partialBytes
      + (unfinished?.bytes ?? 0) + feed.queuedBytes
  }

  private var isFull: Bool { heldBytes >= limits.unreadReplyBytes }

  /// Refuses a call of a batch before it runs if the replies of waiting batches hold too much.
  ///
  /// Written replies do not count here: while the caller reads slowly, the connection does not read
  /// its next batch either.
  ///
  /// - Returns: Whether the call was refused. A notification is never refused: it has no reply to
  ///   hold.
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
        "this connection has \(limits.unreadReplyBytes) bytes of unread replies: read them first",
        limit: "unread_reply_bytes"), origin)
    return true
  }

  /// Refuses to keep the reply of a call that waited if the reply is long and the connection holds
  /// too much.
  ///
  /// - Throws: `overloaded`, not retryable because the call was made.
  func checkRoom(for result: [UInt8]) throws(UsherError) {
    guard result.count > Self.shortReply, isFull else { return }
    throw UsherError(
      .overloaded,
      "the call was made and its reply dropped: this connection holds "
        + "\(limits.unreadReplyBytes) bytes of replies",
      detail: .init(limit: "unread_reply_bytes", retryable: false))
  }

  /// Drops the incomplete line if it and the replies of waiting batches together reach the limit.
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
        limit: "unread_reply_bytes"))
  }
}

extension Limits {
  /// Returns the limits for one caller: a caller without rights gets short lines and no batches.
  func allowed(for caller: Caller) -> Limits {
    guard caller.isUnauthorized else { return self }
    var limits = self
    limits.maxLineBytes = min(maxLineBytes, 4096)
    limits.batch = 1
    return limits
  }
}
