/// A path of a provider's API, or a whole URL, with `{name}` for what differs from call to call.
package struct ProviderPath: CodedAsText, Hashable, Sendable {
  /// As it was written.
  package let text: String

  init(_ text: String) { self.text = text }

  package init(setting text: String) throws(Refusal) {
    let plain = text.filter { $0 != "{" && $0 != "}" }
    let isPath = text.hasPrefix("/") && !text.hasPrefix("//")
    let url = isPath ? "https://example.com" + plain : plain
    guard try !ProviderURL(setting: url).hasQuery else { throw Refusal("must have no query") }
    self.text = text
  }

  package var settingText: String { text }

  /// What is wrong where just this must differ from call to call, and nothing else.
  func complaint(placeholder name: String) -> String? {
    let rest = text.replacing("{\(name)}", with: "", maxReplacements: 1)
    guard !rest.contains("{"), !rest.contains("}") else {
      return "may have {\(name)} once and no other place in braces"
    }
    return nil
  }

  /// The URL of one call.
  ///
  /// - Parameter value: Stands for the placeholder; characters that mean something in a path are
  ///   percent-encoded.
  package func url(under base: ProviderURL, _ name: String, _ value: String) -> String {
    let whole = text.hasPrefix("/") ? base.text + text : text
    return whole.replacing(
      "{\(name)}", with: value.percentEncodedSegment, maxReplacements: 1)
  }
}

extension String {
  /// As one segment of a path (RFC 3986 §3.3): unreserved characters stay. A segment of dots only
  /// would be taken for a step up and is encoded too.
  fileprivate var percentEncodedSegment: String {
    let isDots = allSatisfy { $0 == "." }
    return utf8.map { byte in
      let stays = byte.isWordByte || byte.isOne(of: "-~") || (byte == UInt8(ascii: ".") && !isDots)
      guard !stays else { return String(Unicode.Scalar(byte)) }
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
    }
    .joined()
  }
}
