/// A pattern for the calls of a provider's API that a flow may make: `METHOD:/path`.
///
/// A `*` in the path matches any characters except `/`; a `*` at the end of the path matches any
/// characters. Both also match nothing. The method may be `*`. The query is not compared.
///
/// Characters are compared case-sensitively and without decoding: `*` matches `%2F`, `..` and `%2e`
/// like any other characters. The code that makes the call must therefore refuse a path that a
/// server could interpret as another one: a path with an empty segment, a segment `.` or `..`, or
/// an encoded slash, backslash or dot.
package struct OperationPattern: CodedAsText, Hashable, Sendable {
  package static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

  private let method: String
  private let path: String

  package init(setting text: String) throws(SettingError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "*" || Self.methods.contains(String(parts[0])) else {
      let methods = Self.methods.joined(separator: ", ")
      throw SettingError("must be \"METHOD:/path\", where METHOD is \(methods) or *")
    }
    path = String(parts[1])
    guard path.hasPrefix("/"), !path.contains("//"),
      path.consists(upTo: 1024, of: { $0.isVisible && !$0.isOne(of: "?#\\") }),
      path.split(separator: "/").allSatisfy({ $0 != "." && $0 != ".." })
    else {
      throw SettingError(
        "must be a path from its first slash, without \".\", \"..\", \"//\" and query")
    }
    method = String(parts[0])
  }

  package var settingText: String { "\(method):\(path)" }

  /// Returns whether the pattern matches the operation; false if the call has no operation.
  func covers(_ operation: String?) -> Bool { operation.map(matches) ?? false }

  /// Returns whether the pattern matches.
  ///
  /// - Parameter operation: The `METHOD:/path` of a call, without a query.
  package func matches(_ operation: String) -> Bool {
    let parts = operation.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, method == "*" || method == parts[0] else { return false }
    return matches(path: parts[1])
  }

  /// Returns whether the path matches, segment by segment. Only as many segments are split as the
  /// pattern has, because a path from a caller may be long.
  private func matches(path requested: Substring) -> Bool {
    let slash = UInt8(ascii: "/")
    let patterns = path.utf8.split(separator: slash, omittingEmptySubsequences: false)
    let segments = requested.utf8.split(
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
