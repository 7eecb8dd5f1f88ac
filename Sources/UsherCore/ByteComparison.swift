extension String {
  /// Returns whether both strings have the same UTF-8 bytes.
  ///
  /// `==` compares by canonical equivalence: U+212A KELVIN SIGN equals `K`. Identifiers that a
  /// protocol compares as strings of code points (RFC 8259 §8.3) must be compared by their bytes.
  package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// The words of a scope (RFC 6749 §3.3) as bytes, because scopes are compared by their bytes.
  package var scopeWords: Set<[UInt8]> {
    Set(utf8.split(separator: UInt8(ascii: " ")).map { Array($0) })
  }
}
