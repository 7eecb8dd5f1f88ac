/// Splits a stream of bytes into lines.
///
/// ```swift
/// // A ChannelInboundHandler's channelRead(context:data:), `bytes` being a ByteBuffer:
/// let before = splitter.endedLines
/// bytes.withUnsafeReadableBytes { chunk in
///   splitter.feed(chunk) { event in
///     switch event {
///     case .line(let line): answer(scanner.scan(line), line)
///     case .tooLong: refuse(limit: .line)
///     }
///   }
/// }
/// if !splitter.hasPartialLine {
///   lineTimer.cancel()
/// } else if splitter.endedLines != before || !lineTimer.isRunning {
///   lineTimer.restart()                       // a new line has begun: its ten seconds count now
/// }
/// ```
///
/// A line ends at `\n`; one `\r` before it is removed. Bytes after the last `\n` of the stream are
/// not a line. The events do not depend on how the stream is divided into chunks. Each byte is
/// examined once, so a peer that sends single bytes does not cost more than another.
package struct LineSplitter: Sendable {
  private let maxLineBytes: Int
  private var state = State.betweenLines
  /// The bytes of the unfinished line in state ``State/insideLine``; otherwise empty.
  private var buffer: [UInt8] = []
  /// The number of lines that have ended, including those that were too long; wraps around.
  package private(set) var endedLines: UInt64 = 0

  private enum State: Sendable {
    case betweenLines
    case insideLine
    /// The line is discarded up to its newline.
    case discarding
  }

  package enum Event {
    /// A complete line without its end. The bytes are valid only inside the closure that gets them.
    case line(UnsafeRawBufferPointer)
    /// A line exceeds the limit. The event is reported once for a line, as soon as it is certain;
    /// the next event is about the next line.
    case tooLong
  }

  /// Creates a splitter.
  ///
  /// - Parameter maxLineBytes: The maximum number of bytes before the `\n`, including a `\r`; at
  ///   least 1.
  package init(maxLineBytes: Int = JSONLimits().lineBytes) {
    self.maxLineBytes = max(1, maxLineBytes)
  }

  /// Whether a line has begun but not ended, including a line that is being discarded.
  package var hasPartialLine: Bool { state != .betweenLines }

  /// The number of buffered bytes of the line that has not ended.
  package var partialBytes: Int { buffer.count }

  /// Discards the unfinished line up to its newline.
  package mutating func discardLine() {
    guard state == .insideLine else { return }
    state = .discarding
    buffer = []
  }

  /// Processes a chunk of bytes and passes each event to `body`, which must not access this
  /// splitter.
  ///
  /// A line that is completely inside the chunk is passed without copying.
  package mutating func feed(_ chunk: UnsafeRawBufferPointer, _ body: (Event) -> Void) {
    var rest = chunk
    while !rest.isEmpty {
      let (piece, used) = next(rest)
      switch piece {
      case .line(let range): body(.line(UnsafeRawBufferPointer(rebasing: rest[range])))
      case .buffered(let line): line.withUnsafeBytes { body(.line($0)) }
      case .tooLong: body(.tooLong)
      case .nothing: break
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[used...])
    }
  }

  /// Processes a chunk of bytes in any sequence, which is copied once.
  package mutating func feed(_ chunk: some Sequence<UInt8>, _ body: (Event) -> Void) {
    Array(chunk).withUnsafeBytes { feed($0, body) }
  }

  /// The result of ``next(_:)``.
  package enum Piece: Sendable, Equatable {
    /// The offsets of a line in the chunk, without its end.
    case line(Range<Int>)
    /// A line that began in an earlier chunk.
    case buffered([UInt8])
    /// A line exceeds the limit, as in ``Event/tooLong``.
    case tooLong
    /// The chunk contained no further line end.
    case nothing
  }

  /// Consumes bytes from the front of `chunk` until there is an event or the chunk is used up.
  ///
  /// The method is for callers that may have to stop between two lines. The caller has to keep the
  /// remaining bytes.
  package mutating func next(_ chunk: UnsafeRawBufferPointer) -> (piece: Piece, used: Int) {
    var used = 0
    while used < chunk.count {
      let rest = UnsafeRawBufferPointer(rebasing: chunk[used...])
      guard let newline = rest.firstNewline else { return (bufferPartialLine(rest), chunk.count) }
      let piece = end(with: UnsafeRawBufferPointer(rebasing: rest[..<newline]), at: used)
      used += newline + 1
      if let piece { return (piece, used) }
    }
    return (.nothing, used)
  }

  /// Buffers a chunk that has no newline, unless the line becomes too long.
  private mutating func bufferPartialLine(_ chunk: UnsafeRawBufferPointer) -> Piece {
    if state == .discarding { return .nothing }
    guard chunk.count <= maxLineBytes - buffer.count else {
      state = .discarding
      buffer = []
      return .tooLong
    }
    state = .insideLine
    buffer.append(contentsOf: chunk)
    return .nothing
  }

  /// Ends the unfinished line with `tail`.
  ///
  /// - Returns: Nil if the line is being discarded.
  private mutating func end(with tail: UnsafeRawBufferPointer, at start: Int) -> Piece? {
    defer { state = .betweenLines }
    endedLines &+= 1
    if state == .discarding { return nil }
    guard tail.count <= maxLineBytes - buffer.count else {
      buffer = []
      return .tooLong
    }
    if buffer.isEmpty { return .line(start..<(start + tail.withoutCarriageReturn.count)) }
    // The memory is released, because the line may contain a secret.
    defer { buffer = [] }
    buffer.append(contentsOf: tail)
    if buffer.last == UInt8(ascii: "\r") { buffer.removeLast() }
    return .buffered(buffer)
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var withoutCarriageReturn: UnsafeRawBufferPointer {
    last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: dropLast()) : self
  }

  fileprivate var firstNewline: Int? {
    let offset = firstOffset(from: 0) { $0.bytesEqual(to: UInt8(ascii: "\n")) }
    return offset < count ? offset : nil
  }
}
