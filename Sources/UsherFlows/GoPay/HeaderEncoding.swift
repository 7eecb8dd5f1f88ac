/// The form in which a `requestId` goes into HTTP headers, which carry visible ASCII only.
///
/// Every byte of the UTF-8 text that is not visible ASCII, and the percent sign, becomes `%` and
/// two upper-case hexadecimal digits (RFC 3986 §2.1). A UUID is unchanged, and no two ids have the
/// same form.
enum HeaderEncoding {
  static func encode(_ text: String) -> String {
    text.utf8.map { byte in
      guard !byte.isVisible || byte == UInt8(ascii: "%") else {
        return String(Unicode.Scalar(byte))
      }
      let digits = String(byte, radix: 16, uppercase: true)
      return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
    }
    .joined()
  }

  /// Returns the text whose encoded form this is.
  ///
  /// - Returns: `text` itself if it is no encoded form: the sender has decoded it already.
  static func decode(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(Substring(rest.prefix(2)), radix: 16) else { return text }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self), encode(decoded) == text else {
      return text
    }
    return decoded
  }
}
