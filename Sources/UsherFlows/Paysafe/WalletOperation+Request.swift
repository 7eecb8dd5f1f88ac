import Crypto
import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

extension WalletOperation {
  /// Validates the call that a caller requests.
  ///
  /// - Throws: `invalidParams` that names the wrong parameter.
  init(method: String, path: String, body: [String: JSONValue]?) throws(UsherError) {
    guard OperationPattern.methods.contains(method),
      let known = HTTPRequest.Method(rawValue: method)
    else {
      let methods = OperationPattern.methods.joined(separator: ", ")
      throw ParamsValidation.wrong("method", "must be one of \(methods)")
    }
    if let flaw = WalletPath.flaw(of: path) { throw ParamsValidation.wrong("path", flaw) }
    guard body == nil || known != .get else {
      throw ParamsValidation.wrong("body", "is not allowed with GET")
    }
    guard body?["scaDetails"] == nil else {
      throw ParamsValidation.wrong("body.scaDetails", "must not be set: use params.scaDetails")
    }
    guard body?.values.allSatisfy(\.isExact) ?? true else {
      throw ParamsValidation.wrong(
        "body", "has a number beyond 2^53, which would lose digits: write it as a string")
    }
    self.init(method: known, path: path, body: body?.mapValues(\.settled))
  }

  /// The name of the operation in the configuration: `METHOD:/path`, without the query.
  var name: String { "\(method.rawValue):\(path.prefix { $0 != "?" })" }

  /// Whether the call changes nothing at the wallet, so that it may be repeated.
  var isSafe: Bool { method == .get }

  /// Returns the digest that binds an approval to this operation: SHA-256, in Base64url, over the
  /// call and the description that the customer saw.
  ///
  /// Any change of either gives another digest (Delegated Regulation (EU) 2018/389, article 5).
  /// Every part is preceded by its length, so that no two calls have the same encoding.
  func digest(showing shown: Operation?) -> String {
    let seen = shown.map { [$0.summary, $0.amount, $0.payee].map { Array($0.utf8) } } ?? []
    let content = body.map { [JSONValue.object($0).encoded()] } ?? []
    let parts = [Array("usherd operation 1".utf8), Array(method.rawValue.utf8), Array(path.utf8)]
    var hash = SHA256()
    for group in [parts, content, seen] {
      hash.update(count: group.count)
      for part in group {
        hash.update(count: part.count)
        hash.update(data: part)
      }
    }
    return Base64URL.encode(hash.finalize())
  }
}

extension SHA256 {
  /// Adds a length to the digest, as eight bytes in big-endian order.
  fileprivate mutating func update(count: Int) {
    update(
      data: stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> $0) })
  }
}

extension JSONValue {
  /// Whether encoding sends the value exactly as the caller wrote it. What is sent must be what was
  /// approved.
  fileprivate var isExact: Bool {
    switch self {
    case .null, .bool, .integer, .string: true
    case .number(let value): value.magnitude < 9_007_199_254_740_992
    case .array(let elements): elements.allSatisfy(\.isExact)
    case .object(let members): members.values.allSatisfy(\.isExact)
    }
  }

  /// The value as it is after storage. A coder may decode 1.0 as 1.
  fileprivate var settled: JSONValue {
    switch self {
    case .null, .bool, .integer, .string: self
    case .number(let value): Int64(exactly: value).map { .integer($0) } ?? self
    case .array(let elements): .array(elements.map(\.settled))
    case .object(let members): .object(members.mapValues(\.settled))
    }
  }
}

/// Checks a path that is appended to the wallet's base URL, so that it cannot lead outside of it.
enum WalletPath {
  /// Returns the error in the path, as the end of a sentence.
  ///
  /// - Returns: Nil if every server on the way interprets the path in the same way.
  static func flaw(of text: String) -> String? {
    guard text.hasPrefix("/"), text.utf8.count <= 2048 else {
      return "must begin with a slash and have at most 2048 bytes"
    }
    let strange = Set("\"'#<>\\^`{|}".utf8)
    guard text.utf8.allSatisfy({ $0.isVisible && !strange.contains($0) }), isEncoded(text) else {
      return "has characters that a path and its query cannot have"
    }
    // An empty last segment is a trailing slash.
    let segments = text.prefix { $0 != "?" }.dropFirst().split(
      separator: "/", omittingEmptySubsequences: false)
    guard segments.dropLast().allSatisfy({ !$0.isEmpty }) else {
      return "must not have two slashes in a row"
    }
    guard segments.allSatisfy(isPlain) else {
      return "must not have dots for a segment, nor an encoded slash, backslash or percent sign"
    }
    return nil
  }

  /// Returns whether two hexadecimal digits follow every percent sign.
  private static func isEncoded(_ text: String) -> Bool {
    text.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy { part in
      let digits = part.prefix(2)
      return digits.count == 2 && digits.allSatisfy(\.isHexDigit)
    }
  }

  /// Returns whether a segment means the same before and after decoding, even to servers that cut
  /// it at a semicolon.
  private static func isPlain(_ segment: Substring) -> Bool {
    let decoded = decoded(segment)
    let isHarmless: (UInt8) -> Bool = {
      $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
    }
    let name = decoded.prefix { $0 != UInt8(ascii: ";") }
    let isDotSegment = !name.isEmpty && name.allSatisfy { $0 == UInt8(ascii: ".") }
    return decoded.allSatisfy(isHarmless) && !isDotSegment && name.isEmpty == decoded.isEmpty
      && !segment.contains("%25")
  }

  private static func decoded(_ segment: Substring) -> [UInt8] {
    let parts = segment.split(separator: "%", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(into: parts.first.map { Array($0.utf8) } ?? []) { bytes, part in
      bytes.append(UInt8(part.prefix(2), radix: 16) ?? 0)
      bytes.append(contentsOf: part.dropFirst(2).utf8)
    }
  }
}
