/// `METHOD:/path`: a call of a provider's API that may be made.
///
/// `*` in the path stands for any characters but `/`, a `*` at its very end for any characters at
/// all; each also for none. The method may be `*`. A query never takes part in the comparison.
///
/// Characters are compared as they are written, case and all, and none is decoded: to a star `%2F`,
/// `..` and `%2e` are characters like any others. It relies on what makes the call: that refuses a
/// path which a server could take for another one, such as one with a segment that is empty, `.` or
/// `..`, or with an encoded slash, backslash or dot.
package struct OperationPattern: CodedAsText, Hashable, Sendable {
  package static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

  private let method: String
  private let path: String

  package init(setting text: String) throws(Refusal) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "*" || Self.methods.contains(String(parts[0])) else {
      let methods = Self.methods.joined(separator: ", ")
      throw Refusal("must be \"METHOD:/path\", where METHOD is \(methods) or *")
    }
    path = String(parts[1])
    guard path.hasPrefix("/"), !path.contains("//"),
      path.consists(upTo: 1024, of: { $0.isVisible && !$0.isOne(of: "?#\\") }),
      path.split(separator: "/").allSatisfy({ $0 != "." && $0 != ".." })
    else {
      throw Refusal("must be a path from its first slash, without \".\", \"..\", \"//\" and query")
    }
    method = String(parts[0])
  }

  package var settingText: String { "\(method):\(path)" }

  /// No call at all is none that may be made.
  func holds(_ operation: String?) -> Bool { operation.map(matches) ?? false }

  /// - Parameter operation: `METHOD:/path` of a call, without its query.
  package func matches(_ operation: String) -> Bool {
    let parts = operation.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, method == "*" || method == parts[0] else { return false }
    return matches(path: parts[1])
  }

  /// Segment by segment, and no further than the pattern goes: what a caller sends may be long.
  private func matches(path asked: Substring) -> Bool {
    let slash = UInt8(ascii: "/")
    let patterns = path.utf8.split(separator: slash, omittingEmptySubsequences: false)
    let segments = asked.utf8.split(
      separator: slash, maxSplits: patterns.count, omittingEmptySubsequences: false)
    let isOpen = path.hasSuffix("*")
    guard patterns.count == segments.count || (isOpen && segments.count > patterns.count) else {
      return false
    }
    return zip(patterns, segments).allSatisfy { pattern, segment in
      Glob(text: String(Substring(pattern))).matches(String(Substring(segment)))
    }
  }
}
