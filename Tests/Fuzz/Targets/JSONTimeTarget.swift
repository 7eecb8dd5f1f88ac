import Glibc
import JSONRPC

extension FuzzTarget {
  /// Processing a line takes time that is proportional to its length: at most forty times as long
  /// as for a simple line.
  ///
  /// An input has three parts, separated by zero bytes. The line is the first part, the second part
  /// as often as it fits, and the third part. A number sign in the second part becomes the number
  /// of the repetition, so that the names of members differ.
  static let jsonTime = FuzzTarget("json-time", maxBytes: 512, words: ["JSONRPC"]) { input in
    let line = LongLine.expanded(input)
    for (name, process) in LongLine.processing {
      let limit = LongLine.baseline[name, default: 0] * 40 * Double(line.count) + 0.01
      guard LongLine.seconds(process, line) > limit else { continue }
      // A second and third measurement tell a slow line from a disturbed measurement.
      let seconds = min(LongLine.seconds(process, line), LongLine.seconds(process, line))
      try require(
        seconds <= limit, "\(name) takes \(seconds) s for \(line.count) bytes, not \(limit) s")
    }
  }
}

private enum LongLine {
  static let count = 96 * 1024

  static let processing: [(name: String, process: @Sendable ([UInt8]) -> Void)] = [
    ("the scanner", { _ = Scanner(limits: limits).scan($0) }),
    ("the parser of values", { _ = try? JSONValue(parsing: $0, limits: limits) }),
    (
      "the search for members",
      { line in line.withUnsafeBytes { _ = MemberSearch.find(["account", "id"], in: $0) } }
    ),
    (
      "the reader of server messages",
      { line in line.withUnsafeBytes { _ = try? ServerMessage.read($0, limits: limits) } }
    ),
  ]

  private static let limits = JSONLimits(batch: .max)

  /// The seconds of processor time for each byte of a simple line.
  static let baseline: [String: Double] = {
    let line = expanded(Array(#"{"a":["#.utf8) + [0] + Array("0,".utf8) + [0] + Array("0]}".utf8))
    return Dictionary(
      uniqueKeysWithValues: processing.map { name, process in
        (name, (0..<3).map { _ in seconds(process, line) }.min()! / Double(line.count))
      })
  }()

  static func expanded(_ input: [UInt8]) -> [UInt8] {
    let parts = input.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[1].isEmpty else { return input }
    var line = Array(parts[0])
    var number = 0
    while line.count + parts[1].count + parts[2].count <= count {
      for byte in parts[1] {
        if byte == UInt8(ascii: "#") { line += String(number).utf8 } else { line.append(byte) }
      }
      number += 1
    }
    return line + parts[2]
  }

  /// Returns the processor time of this thread that the processing takes.
  static func seconds(_ process: ([UInt8]) -> Void, _ line: [UInt8]) -> Double {
    let start = processorTime
    process(line)
    return processorTime - start
  }

  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
