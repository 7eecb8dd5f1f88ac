import JSONRPC
import UsherConfig
import UsherCore
import UsherTransport

// The limit of the bytes that a connection keeps in memory. All of these bytes count as unread
// replies: otherwise a batch with one waiting call could keep the replies of all its other calls in
// memory.
extension ConnectionHandler {
  /// The maximum length in bytes of a reply that is kept beyond the limit, so that the caller
  /// learns what its call did. `calls_in_flight` bounds the number of such replies.
  private static let maxShortReplyBytes = 4096

  /// The bytes of unsent replies, queued events, and input whose calls are not answered yet.
  var heldBytes: Int {
    transport.unsent + replies.count + batchedBytes + backlog.count + splitter.partialBytes
      + (unfinishedBatch?.bytes ?? 0) + feed.queuedBytes
  }

  private var isFull: Bool { heldBytes >= limits.unreadReplyBytes }

  /// Refuses a call of a batch before it runs if the replies of waiting batches have reached the
  /// limit.
  ///
  /// Replies that are already written do not count here: while the caller reads slowly, the
  /// connection does not read its next batch either.
  ///
  /// - Returns: Whether the call was refused. A notification is never refused, because it has no
  ///   reply to keep.
  func refuseIfFull(
    _ envelope: Envelope, _ line: UnsafeRawBufferPointer, _ origin: Origin
  ) -> Bool {
    guard batchedBytes >= limits.unreadReplyBytes, let id = envelope.id(in: line) else {
      return false
    }
    fail(
      id,
      UsherError(
        .overloaded,
        "the unread replies on this connection have reached the limit of "
          + "\(limits.unreadReplyBytes) bytes: read them first",
        limit: "unread_reply_bytes"), origin)
    return true
  }

  /// Throws if the reply of a call that waited is long and the connection is over its limit of
  /// bytes.
  ///
  /// - Throws: `overloaded`, which is not retryable because the call was made.
  func checkRoom(for result: [UInt8]) throws(UsherError) {
    guard result.count > Self.maxShortReplyBytes, isFull else { return }
    throw UsherError(
      .overloaded,
      "the call was made and its reply dropped: the unread replies on this connection have reached "
        + "the limit of \(limits.unreadReplyBytes) bytes",
      detail: .init(limit: "unread_reply_bytes", retryable: false))
  }

  /// Drops the incomplete line if it and the replies of waiting batches have reached the limit.
  func enforceLineLimit() {
    guard batchedBytes + splitter.partialBytes >= limits.unreadReplyBytes,
      splitter.partialBytes > Self.maxShortReplyBytes
    else { return }
    splitter.discardLine()
    refuse(
      .null,
      UsherError(
        .overloaded,
        "the line was dropped: with it, the unread replies on this connection reach the limit of "
          + "\(limits.unreadReplyBytes) bytes",
        limit: "unread_reply_bytes"))
  }
}

extension Limits {
  /// Returns the limits for one caller. A caller without rights may send only short lines, and only
  /// one call in a batch.
  func allowed(for caller: Caller) -> Limits {
    guard caller.isUnauthorized else { return self }
    var limits = self
    limits.maxLineBytes = min(maxLineBytes, 4096)
    limits.batch = 1
    return limits
  }
}
