/// A path of a provider's API, or a whole URL, with `{name}` for what differs from call to call.
package struct ProviderPath: CodedAsText, Hashable, Sendable {
  /// As it was written.
  package let text: String

  init(_ text: String) { self.text = text }

  package init(setting text: String) throws(Refusal) {
    let isPath = text.hasPrefix("/") && !text.hasPrefix("//")
    let url = isPath ? "https://example.com" + text : text
    let plain = url.filter { $0 != "{" && $0 != "}" }
    guard try !ProviderURL(setting: plain).hasQuery else { throw Refusal("must have no query") }
    // What differs from call to call may come from a caller: it never chooses the host.
    let path = try URLParts(plain).path
    guard url.hasPrefix(plain.dropLast(path.count)) else {
      throw Refusal("may have braces in its path only")
    }
    self.text = text
  }

  package var settingText: String { text }

  /// What is wrong where just this may differ from call to call, and nothing else.
  ///
  /// - Parameter isNeeded: Whether it must differ, as nothing else of the call says which is meant.
  func complaint(placeholder name: String, isNeeded: Bool = false) -> String? {
    let rest = text.replacing("{\(name)}", with: "", maxReplacements: 1)
    let word = isNeeded ? "must" : "may"
    guard !rest.contains("{"), !rest.contains("}"), !isNeeded || rest != text else {
      return "\(word) have {\(name)} once and no other place in braces"
    }
    return nil
  }

  /// The URL of every call, where none differs.
  package func url(under base: ProviderURL) -> String {
    text.hasPrefix("/") ? base.text + text : text
  }

  /// The URL of one call.
  ///
  /// - Parameter value: Stands for the placeholder; characters that mean something in a path are
  ///   percent-encoded. Encoding does not hide `.` and `..` from every server (RFC 3986 §6.2.2.2):
  ///   who takes such a value from a caller refuses these two.
  package func url(under base: ProviderURL, _ name: String, _ value: String) -> String {
    url(under: base).replacing(
      "{\(name)}", with: value.percentEncodedSegment, maxReplacements: 1)
  }
}

extension String {
  /// As one segment of a path (RFC 3986 §3.3): unreserved characters stay, but for dots where there is
  /// nothing else, which every server would take for a step up.
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
