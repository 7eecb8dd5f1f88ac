/// The inside of a string: the bytes between its quotes, as they stand in the text.
struct Text: Sendable, Hashable {
  /// UInt32 because an object keeps sixteen of these; `Reader` takes no text over 2 GiB.
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

/// The names that one object has used so far, compared unescaped.
///
/// Sixteen names are compared one by one without allocation; more go into a hashed set, so that
/// an object of any size costs linear time. (Swift's hashing is seeded per process: nobody can
/// choose names that collide.)
struct MemberNames {
  private static let fewLimit = 16
  private var few = InlineArray<16, Text>(repeating: .empty)
  /// Nil while there are few.
  private var many: Set<Key>?
  private(set) var count = 0

  /// - Returns: False if the name is there already.
  mutating func insert(_ name: Text, in bytes: UnsafeRawBufferPointer) -> Bool {
    defer { count += 1 }
    if count < Self.fewLimit {
      for index in 0..<count where few[index].isSame(as: name, in: bytes) { return false }
      few[count] = name
      return true
    }
    var all = many ?? Set((0..<count).map { Key(bytes: bytes, name: few[$0]) })
    // One owner, or it is copied for each name.
    many = nil
    defer { many = all }
    return all.insert(Key(bytes: bytes, name: name)).inserted
  }

  /// A name with the text it stands in; lives no longer than the reader.
  private struct Key: Hashable {
    let bytes: UnsafeRawBufferPointer
    let name: Text

    static func == (left: Key, right: Key) -> Bool {
      left.name.isSame(as: right.name, in: left.bytes)
    }

    func hash(into hasher: inout Hasher) {
      if name.isEscaped {
        bytes.unescaped(name).withUnsafeBytes { hasher.combine(bytes: $0) }
      } else {
        hasher.combine(bytes: bytes.part(name.range))
      }
    }
  }
}

extension Text {
  /// Whether both mean the same name, however they are escaped; code unit by code unit as RFC 8259
  /// § 8.3 has it, without Unicode normalisation.
  func isSame(as other: Text, in bytes: UnsafeRawBufferPointer) -> Bool {
    if isEscaped || other.isEscaped { return bytes.unescaped(self) == bytes.unescaped(other) }
    return count == other.count && bytes.part(range).elementsEqual(bytes.part(other.range))
  }
}
