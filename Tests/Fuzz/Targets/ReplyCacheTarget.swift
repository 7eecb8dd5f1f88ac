import JSONRPC

@testable import UsherDaemon

extension FuzzTarget {
  /// A line that the reply cache recognizes by its shape is a call that the scanner would read in
  /// the same way as the first line, apart from the id.
  ///
  /// An input is a first line, and a second line or another id for the first line. A test of the
  /// daemon sends the lines of the corpus to connections with and without a cache.
  static let replyCache = FuzzTarget("reply-cache", words: ["JSONRPC"]) { input in
    let lines = input.lines
    let first = lines[0]
    guard lines.count > 1, case .call(let call) = Scanner().scan(first), let id = call.idRange,
      let shape = first.withUnsafeBytes({ LineShape(of: $0, id: id) })
    else { return }
    let second = lines[1]
    let otherID = first[..<id.lowerBound] + second + first[id.upperBound...]
    try require(first.withUnsafeBytes { shape.id(in: $0) != nil }, "the first line has no shape")
    for line in [first, second, Array(otherID)] {
      try line.withUnsafeBytes { bytes in
        guard let found = shape.id(in: bytes) else { return }
        guard case .call(let other) = Scanner().scan(bytes) else {
          throw PropertyViolation(description: "a recognized line is not a call: \(line.text)")
        }
        try require(other.idBytes(in: bytes).map { Array($0) } == Array(found), "another id")
        try first.withUnsafeBytes { firstBytes in
          try require(
            other.method(in: bytes) == call.method(in: firstBytes)
              && other.paramsBytes(in: bytes).map { Array($0) }
                == call.paramsBytes(in: firstBytes).map { Array($0) },
            "a recognized line is another call: \(line.text)")
        }
      }
    }
  }
}
