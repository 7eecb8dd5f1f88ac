extension UInt8 {
  /// Whether the byte is a control character of ASCII, among them NUL, CR and LF.
  var isControl: Bool { self < 0x20 || self == 0x7F }

  var isDigit: Bool { 0x30...0x39 ~= self }

  var isLetter: Bool { 0x61...0x7A ~= self | 0x20 }

  var isLetterOrDigit: Bool { isDigit || isLetter }
}

extension String {
  /// The text with the letters A to Z in lower case.
  var asciiLowercased: String {
    String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// Whether the text is a word that a shell does not interpret, and is no option.
  var isPlainWord: Bool {
    !isEmpty && utf8.first != UInt8(ascii: "-")
      && utf8.allSatisfy { $0.isLetterOrDigit || "-._:/@+".utf8.contains($0) }
  }

  /// The text as a part of a line for people: at most 500 characters, and without characters that
  /// control the terminal or reorder the line.
  var printable: String {
    var text = ""
    for scalar in unicodeScalars.prefix(500) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
        .unassigned:
        text.unicodeScalars.append("?")
      default: text.unicodeScalars.append(scalar)
      }
    }
    return unicodeScalars.count > 500 ? text + "…" : text
  }
}

/// Returns the text in the bytes; nil if they are not UTF-8 or contain a control character. A final
/// newline is dropped.
func singleLine(_ bytes: [UInt8]) -> String? {
  let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
  guard !line.contains(where: \.isControl) else { return nil }
  return String(validating: line, as: UTF8.self)
}

/// Whether a header `WWW-Authenticate` says that the token of the request was refused (RFC 6750
/// §3.1).
func refusesToken(_ header: String) -> Bool {
  Array(header.asciiLowercased.utf8)[...].split(at: #"error="invalid_token""#) != nil
}
