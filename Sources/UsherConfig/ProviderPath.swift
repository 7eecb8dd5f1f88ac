/// A path of a provider's API, or an absolute URL. It may contain a placeholder `{name}` for a
/// variable part.
package struct ProviderPath: CodedAsText, Hashable, Sendable {
  /// The path or URL as the configuration spells it.
  package let text: String

  init(_ text: String) { self.text = text }

  package init(setting text: String) throws(SettingError) {
    let isPath = text.hasPrefix("/") && !text.hasPrefix("//")
    let url = isPath ? "https://example.com" + text : text
    let plain = url.filter { $0 != "{" && $0 != "}" }
    guard try !ProviderURL(setting: plain).hasQuery else {
      throw SettingError("must have no query")
    }
    // The value for a placeholder may come from a caller, so the host must not contain a
    // placeholder.
    let path = try URLParts(plain).path
    guard url.hasPrefix(plain.dropLast(path.count)) else {
      throw SettingError("may have braces in its path only")
    }
    self.text = text
  }

  package var settingText: String { text }

  /// Returns what is wrong with the placeholders of the path; nil if nothing is. The path must not
  /// have another placeholder, or this one twice.
  ///
  /// - Parameter isNeeded: Whether the path must have the placeholder, because no other part of the
  ///   request carries the value.
  func violation(placeholder name: String, isNeeded: Bool = false) -> String? {
    let rest = text.replacing("{\(name)}", with: "", maxReplacements: 1)
    let word = isNeeded ? "must" : "may"
    guard !rest.contains("{"), !rest.contains("}"), !isNeeded || rest != text else {
      return "\(word) have {\(name)} once and no other placeholder in braces"
    }
    return nil
  }

  /// Why the path is invalid as one without a placeholder; nil if it has none.
  var plainViolation: String? {
    text.contains { $0 == "{" || $0 == "}" } ? "must have no placeholder in braces" : nil
  }

  /// Returns the URL of a path that has no placeholder.
  package func url(under base: ProviderURL) -> String {
    text.hasPrefix("/") ? base.text + text : text
  }

  /// Returns the URL of one request, with the value in place of the placeholder.
  ///
  /// - Parameter value: The value for the placeholder. Characters that have a meaning in a path are
  ///   percent-encoded. Encoding does not hide `.` and `..` from every server (RFC 3986 §6.2.2.2):
  ///   code that accepts such a value from a caller must refuse these two.
  package func url(under base: ProviderURL, _ name: String, _ value: String) -> String {
    url(under: base).replacing(
      "{\(name)}", with: value.percentEncodedSegment, maxReplacements: 1)
  }
}

extension String {
  /// The text encoded as one segment of a path (RFC 3986 §3.3). Unreserved characters are not
  /// encoded, except in a text of dots only, which every server would interpret as `.` or `..`.
  fileprivate var percentEncodedSegment: String {
    let isDotSegment = allSatisfy { $0 == "." }
    return utf8.map { byte in
      let stays =
        byte.isWordByte || byte.isOne(of: "-~") || (byte == UInt8(ascii: ".") && !isDotSegment)
      guard !stays else { return String(Unicode.Scalar(byte)) }
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
    }
    .joined()
  }
}
