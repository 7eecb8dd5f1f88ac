extension String {
  /// Whether both are the same bytes of UTF-8.
  ///
  /// `==` compares by canonical equivalence: U+212A KELVIN SIGN equals `K`. An identifier that a
  /// protocol compares as a string of code points (RFC 8259 §8.3) must not be compared that way.
  package func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// The words of a scope (RFC 6749 §3.3), which are compared by their bytes.
  package var scopeWords: Set<[UInt8]> {
    Set(utf8.split(separator: UInt8(ascii: " ")).map { Array($0) })
  }
}
