/// A path of a provider's API, or an absolute URL, with `{name}` in place of a variable part.
package struct ProviderPath: CodedAsText, Hashable, Sendable {
  /// The path or URL as it is in the configuration.
  package let text: String

  init(_ text: String) { self.text = text }

  package init(setting text: String) throws(SettingError) {
    let isPath = text.hasPrefix("/") && !text.hasPrefix("//")
    let url = isPath ? "https://example.com" + text : text
    let plain = url.filter { $0 != "{" && $0 != "}" }
    guard try !ProviderURL(setting: plain).hasQuery else {
      throw SettingError("must have no query")
    }
    // A value for a placeholder may come from a caller, so no placeholder may be in the host.
    let path = try URLParts(plain).path
    guard url.hasPrefix(plain.dropLast(path.count)) else {
      throw SettingError("may have braces in its path only")
    }
    self.text = text
  }

  package var settingText: String { text }

  /// Returns a description of the error if the path has another placeholder, has this one twice, or
  /// lacks it although it is needed; otherwise nil.
  ///
  /// - Parameter isNeeded: Whether the path must have the placeholder, because no other part of the
  ///   request carries the value.
  func complaint(placeholder name: String, isNeeded: Bool = false) -> String? {
    let rest = text.replacing("{\(name)}", with: "", maxReplacements: 1)
    let word = isNeeded ? "must" : "may"
    guard !rest.contains("{"), !rest.contains("}"), !isNeeded || rest != text else {
      return "\(word) have {\(name)} once and no other placeholder in braces"
    }
    return nil
  }

  /// A description of the error if the path has a placeholder; otherwise nil.
  var plainComplaint: String? {
    text.contains { $0 == "{" || $0 == "}" } ? "must have no placeholder in braces" : nil
  }

  /// Returns the URL of a path without placeholders.
  package func url(under base: ProviderURL) -> String {
    text.hasPrefix("/") ? base.text + text : text
  }

  /// Returns the URL of one request.
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
  /// The text as one path segment (RFC 3986 §3.3). Unreserved characters stay, except the dots of a
  /// text of dots only, which every server would take as `.` or `..`.
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
