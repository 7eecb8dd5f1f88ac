extension String {
  /// The text as it may reach a terminal: what could move the cursor, change the screen or turn the
  /// direction of writing is replaced by U+FFFD.
  var printable: String {
    guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
    var scalars = String.UnicodeScalarView()
    for scalar in unicodeScalars { scalars.append(scalar.isUnprintable ? "\u{FFFD}" : scalar) }
    return String(scalars)
  }

  /// JSON with the same characters escaped, which leaves its meaning as it is.
  ///
  /// They can stand only inside strings: those JSON allows between values are white space, of which
  /// our lines have none.
  var printableJSON: String {
    guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.isUnprintable {
        for unit in String(scalar).utf16 { text += "\\u" + Self.fourDigits(unit) }
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  private static func fourDigits(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }
}

extension Unicode.Scalar {
  fileprivate var isUnprintable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
