/// Cuts a stream of bytes into lines.
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
/// A line ends at `\n`; one `\r` before it is dropped. What stands after the last `\n` when the
/// stream ends is not a line. Any chunking of a stream gives the same events. Each byte is looked
/// at once, so a peer that sends one byte at a time costs no more than its bytes.
package struct LineSplitter: Sendable {
  private let maxLineBytes: Int
  private var state = State.betweenLines
  /// The line so far, while ``State/insideLine``; empty otherwise.
  private var buffer: [UInt8] = []
  /// Lines that have ended so far, too long ones among them; wraps.
  package private(set) var endedLines: UInt64 = 0

  private enum State: Sendable {
    case betweenLines
    case insideLine
    /// Said to be too long; the rest is thrown away up to the newline.
    case discarding
  }

  package enum Event {
    /// A whole line without its end; valid only inside the closure that got it.
    case line(UnsafeRawBufferPointer)
    /// A line passed the limit. Comes once a line, as soon as it is certain; the stream goes on
    /// with the next line.
    case tooLong
  }

  /// - Parameter maxLineBytes: Bytes before the `\n`, a `\r` included; at least 1.
  package init(maxLineBytes: Int = JSONLimits().lineBytes) {
    self.maxLineBytes = max(1, maxLineBytes)
  }

  /// Whether a line has begun that has not ended; also while a too long one is thrown away.
  package var hasPartialLine: Bool {
    switch state {
    case .betweenLines: false
    case .insideLine, .discarding: true
    }
  }

  /// Bytes that are kept of a line that has not ended.
  package var partialBytes: Int { buffer.count }

  /// Throws away the line that has begun, up to its newline.
  package mutating func discardLine() {
    guard state == .insideLine else { return }
    state = .discarding
    buffer = []
  }

  /// Takes in a whole chunk. `body` must not touch this splitter.
  ///
  /// A line that lies in the chunk as a whole is handed out where it lies, uncopied.
  package mutating func feed(_ chunk: UnsafeRawBufferPointer, _ body: (Event) -> Void) {
    var rest = chunk
    while !rest.isEmpty {
      let (piece, used) = next(rest)
      switch piece {
      case .line(let range): body(.line(UnsafeRawBufferPointer(rebasing: rest[range])))
      case .gathered(let line): line.withUnsafeBytes { body(.line($0)) }
      case .tooLong: body(.tooLong)
      case .nothing: break
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[used...])
    }
  }

  /// The same for bytes that lie elsewhere; copies them once.
  package mutating func feed(_ chunk: some Sequence<UInt8>, _ body: (Event) -> Void) {
    Array(chunk).withUnsafeBytes { feed($0, body) }
  }

  /// What the front of a chunk was.
  package enum Piece: Sendable, Equatable {
    /// A line as it lies in the chunk, without its end.
    case line(Range<Int>)
    /// A line that began before the chunk.
    case gathered([UInt8])
    /// As ``Event/tooLong``.
    case tooLong
    /// Nothing that has ended.
    case nothing
  }

  /// Takes bytes from the front of `chunk` until there is one event or the chunk is used up.
  ///
  /// For callers that may have to stop between two lines; the bytes left are theirs to keep.
  package mutating func next(_ chunk: UnsafeRawBufferPointer) -> (piece: Piece, used: Int) {
    var used = 0
    while used < chunk.count {
      let rest = UnsafeRawBufferPointer(rebasing: chunk[used...])
      guard let newline = rest.firstNewline else { return (keep(rest), chunk.count) }
      let piece = end(with: UnsafeRawBufferPointer(rebasing: rest[..<newline]), at: used)
      used += newline + 1
      if let piece { return (piece, used) }
    }
    return (.nothing, used)
  }

  /// The chunk holds no newline: it is kept, or the line has become too long.
  private mutating func keep(_ chunk: UnsafeRawBufferPointer) -> Piece {
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

  /// The line ends with `tail`.
  ///
  /// - Returns: Nil where it is thrown away.
  private mutating func end(with tail: UnsafeRawBufferPointer, at start: Int) -> Piece? {
    defer { state = .betweenLines }
    endedLines &+= 1
    if state == .discarding { return nil }
    guard tail.count <= maxLineBytes - buffer.count else {
      buffer = []
      return .tooLong
    }
    if buffer.isEmpty { return .line(start..<(start + tail.withoutCarriageReturn.count)) }
    // Not kept for the next line: this one may have had a secret in it.
    defer { buffer = [] }
    buffer.append(contentsOf: tail)
    if buffer.last == UInt8(ascii: "\r") { buffer.removeLast() }
    return .gathered(buffer)
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
