/// `METHOD:/path`: a call of a provider's API that may be made.
///
/// `*` in the path stands for any characters but `/`, a `*` at its very end for any characters at
/// all; the method may be `*`. A query never takes part in the comparison.
package struct OperationPattern: CodedAsText, Hashable, Sendable {
  package static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

  private let method: String
  private let path: String

  package init(setting text: String) throws(Refusal) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "*" || Self.methods.contains(String(parts[0])) else {
      throw Refusal("must be \"METHOD:/path\" with one of \(Self.methods.joined(separator: " "))")
    }
    path = String(parts[1])
    guard path.hasPrefix("/"), path.consists(upTo: 1024, of: \.isVisible), !path.contains("?"),
      !path.contains("//"), !path.split(separator: "/").contains("..")
    else { throw Refusal("must be a path from its first slash, without \"..\", \"//\" and query") }
    method = String(parts[0])
  }

  package var settingText: String { "\(method):\(path)" }

  /// - Parameter operation: `METHOD:/path` of a call, without its query.
  package func matches(_ operation: String) -> Bool {
    let parts = operation.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, method == "*" || method == parts[0] else { return false }
    return Self.matches(Array(path.utf8)[...], Array(parts[1].utf8)[...])
  }

  /// Segment by segment, so in time of the product of their lengths.
  private static func matches(_ pattern: ArraySlice<UInt8>, _ path: ArraySlice<UInt8>) -> Bool {
    let slash = UInt8(ascii: "/")
    let patterns = pattern.split(separator: slash, omittingEmptySubsequences: false)
    let segments = path.split(separator: slash, omittingEmptySubsequences: false)
    let isOpen = pattern.last == UInt8(ascii: "*")
    guard patterns.count == segments.count || (isOpen && segments.count > patterns.count) else {
      return false
    }
    return zip(patterns, segments).allSatisfy { pattern, segment in
      Glob(text: String(decoding: pattern, as: UTF8.self))
        .matches(String(decoding: segment, as: UTF8.self))
    }
  }
}
