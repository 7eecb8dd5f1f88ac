/// The content of a JSON string: the range of the bytes between its quotes, before unescaping.
struct Text: Sendable, Hashable {
  /// The offset of the first byte. `UInt32` suffices, because `Reader` accepts at most 2 GiB, and
  /// saves memory: each object has sixteen of these values.
  private let start: UInt32
  private let countAndFlag: UInt32

  init(_ range: Range<Int>, isEscaped: Bool) {
    start = UInt32(truncatingIfNeeded: range.lowerBound)
    countAndFlag = UInt32(truncatingIfNeeded: range.count) << 1 | (isEscaped ? 1 : 0)
  }

  static let empty = Text(0..<0, isEscaped: false)

  var isEscaped: Bool { countAndFlag & 1 == 1 }
  var count: Int { Int(countAndFlag >> 1) }
  var range: Range<Int> { Int(start)..<(Int(start) + count) }
}

/// The names of one JSON object's members so far, to detect duplicates. Names are compared
/// unescaped.
///
/// Up to sixteen names are compared one by one without allocation. More names go into a hashed set,
/// so that an object of any size takes linear time. Swift's hashing is seeded per process, so a
/// peer cannot choose names that collide.
///
/// As soon as a name of the object has an escape, each comparison unescapes both names again. From
/// then on a name is compared with the others one by one only if it is among the first four, or
/// among the first eight and at most eight bytes long: for so few names a set costs more. Otherwise
/// all names go into the set, which unescapes each name once.
struct MemberNames {
  private static let inlineLimit = 16
  /// The number of names up to which an object with an escaped name is compared name by name.
  private static let escapedNamesLimit = 4
  /// The number of names up to which an object with an escaped name is compared name by name if the
  /// names after the first four are short.
  private static let shortNamesLimit = 8
  /// The maximum number of bytes of a short name, before unescaping.
  private static let shortLimit = 8
  private var inlineNames = InlineArray<16, Text>(repeating: .empty)
  /// Whether a name in ``inlineNames`` has a JSON escape.
  private var isEscaped = false
  /// The set of all names; nil while ``inlineNames`` contains them.
  private var nameSet: Set<Key>?
  private(set) var count = 0

  /// Adds the next member name of the object; returns false if the object has it already.
  mutating func insert(_ name: Text, in bytes: UnsafeRawBufferPointer) -> Bool {
    defer { count += 1 }
    guard nameSet == nil, count < Self.inlineLimit, !name.isEscaped, !isEscaped else {
      return insertUnescaped(name, in: bytes)
    }
    for index in 0..<count where inlineNames[index].isSame(as: name, in: bytes) { return false }
    inlineNames[count] = name
    return true
  }

  /// Adds the next name of an object that has an escaped name or more than sixteen names; returns
  /// false if the object has the name already. All names are compared unescaped.
  @inline(never)
  private mutating func insertUnescaped(
    _ name: Text, in bytes: UnsafeRawBufferPointer
  ) -> Bool {
    if nameSet == nil,
      count < Self.escapedNamesLimit
        || count < Self.shortNamesLimit && name.count <= Self.shortLimit
    {
      for index in 0..<count where inlineNames[index].isSame(unescaped: name, in: bytes) {
        return false
      }
      inlineNames[count] = name
      isEscaped = isEscaped || name.isEscaped
      return true
    }
    var all = nameSet ?? Set((0..<count).map { Key(inlineNames[$0], in: bytes) })
    // The stored property is emptied, so that the set is uniquely referenced; otherwise each
    // insertion would copy the set.
    nameSet = nil
    defer { nameSet = all }
    return all.insert(Key(name, in: bytes)).inserted
  }

  /// A name that is compared by its unescaped bytes. It is valid only as long as the reader's text.
  private struct Key: Hashable {
    /// The bytes of the name in the JSON text, with escapes.
    private let written: UnsafeRawBufferPointer
    /// The unescaped name; nil if it has no escapes.
    private let unescaped: [UInt8]?

    init(_ name: Text, in bytes: UnsafeRawBufferPointer) {
      written = bytes.part(name.range)
      unescaped = name.isEscaped ? bytes.unescaped(name) : nil
    }

    /// Compares code units (RFC 8259 § 8.3), without Unicode normalization.
    static func == (left: Key, right: Key) -> Bool {
      left.withBytes { left in right.withBytes { left.elementsEqual($0) } }
    }

    func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: $0) } }

    private func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
      unescaped?.withUnsafeBytes(body) ?? body(written)
    }
  }
}

extension Text {
  /// Returns whether two names without escapes are equal.
  fileprivate func isSame(as other: Text, in bytes: UnsafeRawBufferPointer) -> Bool {
    count == other.count && bytes.part(range).elementsEqual(bytes.part(other.range))
  }

  /// Returns whether two names are equal after unescaping.
  fileprivate func isSame(unescaped other: Text, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard isEscaped || other.isEscaped else { return isSame(as: other, in: bytes) }
    return Unescaped(self, in: bytes).elementsEqual(Unescaped(other, in: bytes))
  }

  /// The unescaped bytes of a string, produced one by one without allocation.
  private struct Unescaped: Sequence, IteratorProtocol {
    private let source: UnsafeRawBufferPointer
    private var at = 0
    /// The bytes of the last escape that `next()` has not returned yet.
    private var rest = UTF8.EncodedScalar()

    init(_ text: Text, in bytes: UnsafeRawBufferPointer) { source = bytes.part(text.range) }

    mutating func next() -> UInt8? {
      if !rest.isEmpty { return rest.removeFirst() }
      guard at < source.count else { return nil }
      guard source[at] == UInt8(ascii: "\\") else {
        defer { at += 1 }
        return source[at]
      }
      rest = source.escapedCharacter(at: &at)
      return rest.isEmpty ? nil : rest.removeFirst()
    }
  }
}
