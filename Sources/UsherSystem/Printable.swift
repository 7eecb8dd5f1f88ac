/// Escaping of untrusted text for one line of a terminal, a log or a status.
package enum Printable {
  /// Escapes every character that could end the line, move a cursor or change the order of display.
  ///
  /// Control characters (C0, DEL, C1), line and paragraph separators and the Unicode bidirectional
  /// controls become `\n`, `\t`, … or `\u{9b}`. A backslash is doubled, so that escaped and literal
  /// text can be told apart.
  package static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isEscaped) else { return text }
    var line = ""
    for scalar in text.unicodeScalars {
      if isEscaped(scalar) { line += escape(scalar) } else { line.unicodeScalars.append(scalar) }
    }
    return line
  }

  /// Escapes the value of a `key=value` pair like ``line(_:)``, and puts the value in quotation
  /// marks if its end would be ambiguous.
  package static func value(_ text: String) -> String {
    let isPlain =
      !text.isEmpty && !text.unicodeScalars.contains { " \"=".unicodeScalars.contains($0) }
    guard !isPlain else { return line(text) }
    let quoted = line(text).split(separator: "\"", omittingEmptySubsequences: false)
    return "\"" + quoted.joined(separator: "\\\"") + "\""
  }

  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x5c, 0x7f..<0xa0: true
    case 0x061c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "\\": "\\\\"
    case "\n": "\\n"
    case "\r": "\\r"
    case "\t": "\\t"
    default: "\\u{" + String(scalar.value, radix: 16) + "}"
    }
  }
}
