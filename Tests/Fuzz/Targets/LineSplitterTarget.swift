import JSONRPC

extension FuzzTarget {
  /// The lines of a stream do not depend on how the stream is divided into chunks, and are those
  /// that a simple splitter finds. The first two bytes choose the limit and the chunks.
  static let lineSplitter = FuzzTarget("line-splitter") { input in
    guard input.count > 2 else { return }
    let limit = Int(input[0] % 32) + 1
    let stream = Array(input.dropFirst(2))
    let expected = SimpleSplitter(stream, limit: limit)
    var splitter = LineSplitter(maxLineBytes: limit)
    var found: [SimpleSplitter.Line] = []
    var rest = stream[...]
    var size = Int(input[1])
    while !rest.isEmpty {
      size = (size * 5 + 3) % 17
      splitter.feed(rest.prefix(size)) { event in
        switch event {
        case .line(let line): found.append(.complete(Array(line)))
        case .tooLong: found.append(.tooLong)
        }
      }
      rest = rest.dropFirst(size)
    }
    try require(found == expected.lines, "found \(found), expected \(expected.lines)")
    try require(
      splitter.partialBytes == expected.partialBytes, "the splitter buffers other bytes")
    try require(
      splitter.hasPartialLine == expected.hasPartialLine, "the splitter is in another state")
    try require(splitter.endedLines == UInt64(stream.count { $0 == 0x0A }), "other line ends")
  }
}

/// Splits a stream that is known as a whole.
private struct SimpleSplitter {
  enum Line: Equatable {
    case complete([UInt8])
    case tooLong
  }

  private(set) var lines: [Line] = []
  let hasPartialLine: Bool
  let partialBytes: Int

  init(_ stream: [UInt8], limit: Int) {
    var pieces = stream.lines
    let partial = pieces.removeLast()
    lines = pieces.map { line in
      guard line.count <= limit else { return .tooLong }
      return .complete(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
    }
    let isTooLong = partial.count > limit
    if isTooLong { lines.append(.tooLong) }
    hasPartialLine = !partial.isEmpty
    partialBytes = isTooLong ? 0 : partial.count
  }
}
