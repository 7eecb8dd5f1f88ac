extension String {
  /// The text made safe for a terminal. Characters that could move the cursor, change the screen or
  /// change the writing direction are replaced by U+FFFD.
  package var printable: String {
    guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
    var scalars = String.UnicodeScalarView()
    for scalar in unicodeScalars { scalars.append(scalar.isUnprintable ? "\u{FFFD}" : scalar) }
    return String(scalars)
  }
}

extension Unicode.Scalar {
  /// Whether a terminal may do something else with this character than show it.
  package var isUnprintable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}
