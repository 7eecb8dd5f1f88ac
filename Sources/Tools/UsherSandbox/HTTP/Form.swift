/// The fields of a query or an `application/x-www-form-urlencoded` body.
package struct Form: Sendable, Equatable {
  /// The reason why a text cannot be parsed as a form.
  package enum Failure: Error, Equatable {
    case notUTF8
    case tooManyFields
  }

  /// The largest number of fields in a form.
  package static let limit = 100

  private var values: [String: String] = [:]
  /// Names that occur more than once, which OAuth forbids (RFC 6749 §3.1, §3.2). It permits it for
  /// `resource` (RFC 8707 §2), whose values are joined by line ends.
  package private(set) var repeated: Set<String> = []

  package init(_ fields: [String: String] = [:]) {
    values = fields
  }

  package init(parsing text: some Collection<UInt8>) throws(Failure) {
    let fields = text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true)
    guard fields.count <= Self.limit else { throw .tooManyFields }
    for field in fields {
      let parts = field.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? parts[1] : field[field.endIndex...]
      guard
        let name = PercentEncoding.decodedForm(parts[0]),
        let decoded = PercentEncoding.decodedForm(value)
      else { throw .notUTF8 }
      guard let earlier = values.updateValue(decoded, forKey: name) else { continue }
      if name == "resource" {
        values[name] = earlier + "\n" + decoded
      } else {
        repeated.insert(name)
      }
    }
  }

  /// Returns the text of a form, with its fields sorted by name. A value that is not a text is
  /// written as JSON.
  static func encoded(_ fields: [String: JSON]) -> String {
    fields.sorted { $0.key < $1.key }
      .map { name, value in
        let text = value.text ?? String(decoding: value.encoded(), as: UTF8.self)
        return "\(PercentEncoding.encoded(name))=\(PercentEncoding.encoded(text))"
      }
      .joined(separator: "&")
  }

  /// The value of a field; nil if the field is absent or empty (RFC 6749 §3.1).
  package subscript(name: String) -> String? {
    guard let value = values[name], !value.isEmpty else { return nil }
    return value
  }

  /// The names of the fields.
  var names: Set<String> { Set(values.keys) }

  /// Whether the field is present, even if it is empty.
  package func has(_ name: String) -> Bool { values[name] != nil }
}

/// Percent-encoding as used in forms and URLs.
package enum PercentEncoding {
  /// Decodes form encoding: `+` is a space and `%XX` a byte. A `%` without two hex digits is kept.
  /// Returns nil if the bytes are not UTF-8.
  package static func decodedForm(_ text: some Collection<UInt8>) -> String? {
    decodedSegment(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
  }

  /// Decodes form encoding strictly. Returns nil for a `%` without two hex digits, for a character
  /// that an encoder must escape, and for bytes that are not UTF-8.
  package static func decodedStrictForm(_ text: some Collection<UInt8>) -> String? {
    let extra = Array("*+%".utf8)
    guard text.allSatisfy({ isUnreserved($0) || extra.contains($0) }) else { return nil }
    var rest = Array(text)[...]
    while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
      guard hexByte(rest[(percent + 1)...].prefix(2)) != nil else { return nil }
      rest = rest[(percent + 3)...]
    }
    return decodedForm(text)
  }

  /// Decodes a percent-encoded path segment like ``decodedForm(_:)``, but keeps `+`.
  package static func decodedSegment(_ text: some Collection<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        if let value = hexByte(rest.prefix(2)) {
          bytes.append(value)
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
        }
      default:
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Percent-encodes all characters except the unreserved ones (RFC 3986 §2.3).
  package static func encoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
      if isUnreserved(byte) {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += "%" + (digits.count == 1 ? "0" : "") + digits
      }
    }
  }

  private static func hexByte(_ digits: ArraySlice<UInt8>) -> UInt8? {
    guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit })
    else { return nil }
    return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default:
      false
    }
  }
}
