/// The key that opens the database if its master key is lost: 32 random bytes, which the operator
/// writes down.
///
/// Its text is 56 characters of Crockford's Base32 in eight groups of seven: the key and a CRC of
/// 24 bits (RFC 9580 §6.1.1), which tells a mistyped key from a wrong one. The CRC detects every
/// single wrong character and every swap of two neighbours.
package struct RecoveryKey: Sendable, Hashable {
  /// The length of the key in bytes.
  package static let length = 32

  package let bytes: [UInt8]

  /// Creates a key from its bytes.
  ///
  /// - Precondition: `bytes` has 32 bytes.
  package init(_ bytes: [UInt8]) {
    precondition(bytes.count == Self.length)
    self.bytes = bytes
  }

  /// Why a text is not a recovery key. The description follows the words "the recovery key".
  package enum Mistake: Error, Equatable, CustomStringConvertible {
    case length(Int)
    /// The character at this position, counted from 1, is not in the alphabet.
    case character(Int)
    case check

    package var description: String {
      switch self {
      case .length(let count): "must have \(Text.count) characters, not \(count)"
      case .character(let place): "has an invalid character at position \(place)"
      case .check: "is mistyped: its checksum is wrong"
      }
    }
  }

  /// Reads the text that a user typed. Case, spaces and hyphens are ignored; O is read as 0, and I
  /// and L are read as 1.
  package init(_ text: Secret) throws(Mistake) {
    let values = try Text.values(text.revealed())
    let all = Text.bytes(values)
    let key = Array(all.prefix(Self.length))
    guard Text.check(key) == Array(all.dropFirst(Self.length)) else { throw .check }
    bytes = key
  }

  /// The text for the user to write down.
  package var text: Secret { Secret(Text.grouped(Text.characters(bytes + Text.check(bytes)))) }

  package static func == (left: RecoveryKey, right: RecoveryKey) -> Bool {
    zip(left.bytes, right.bytes).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension RecoveryKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "<secret>" }
  package var debugDescription: String { "<secret>" }
  package var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

/// Converts between the bytes of a recovery key and its text: Crockford's Base32 with a CRC.
private enum Text {
  static let count = 56
  private static let group = 7
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  static func characters(_ bytes: [UInt8]) -> [UInt8] {
    regrouped(bytes, from: 8, to: 5).map { alphabet[Int($0)] }
  }

  static func grouped(_ characters: [UInt8]) -> String {
    stride(from: 0, to: characters.count, by: group).map { start in
      String(decoding: characters[start..<min(start + group, characters.count)], as: UTF8.self)
    }.joined(separator: "-")
  }

  static func bytes(_ values: [UInt8]) -> [UInt8] { regrouped(values, from: 5, to: 8) }

  /// Converts numbers of `width` bits each to numbers of `newWidth` bits each, with the same bits
  /// in order. Bits that fill no number are dropped.
  private static func regrouped(
    _ numbers: [UInt8], from width: Int, to newWidth: Int
  ) -> [UInt8] {
    var (bits, held) = (UInt32(0), 0)
    var result: [UInt8] = []
    for number in numbers {
      bits = bits << width | UInt32(number)
      held += width
      while held >= newWidth {
        held -= newWidth
        result.append(UInt8(bits >> held & (1 << newWidth - 1)))
      }
    }
    return result
  }

  /// Returns the values of the text's characters, which have five bits each.
  static func values(_ text: String) throws(RecoveryKey.Mistake) -> [UInt8] {
    let characters = text.utf8.filter { !" -\t\r\n".utf8.contains($0) }
    guard characters.count == count else { throw .length(characters.count) }
    var values: [UInt8] = []
    for (index, character) in characters.enumerated() {
      guard let value = value(of: character) else { throw .character(index + 1) }
      values.append(value)
    }
    return values
  }

  private static func value(of character: UInt8) -> UInt8? {
    let isLower = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
    let upper = isLower ? character - 32 : character
    switch upper {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return alphabet.firstIndex(of: upper).map(UInt8.init)
    }
  }

  /// Returns the CRC-24 of OpenPGP over the bytes (RFC 9580 §6.1.1).
  static func check(_ bytes: [UInt8]) -> [UInt8] {
    var sum: UInt32 = 0xB7_04CE
    for byte in bytes {
      sum ^= UInt32(byte) << 16
      for _ in 0..<8 {
        sum <<= 1
        if sum & 0x100_0000 != 0 { sum ^= 0x186_4CFB }
      }
    }
    return [16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
  }
}
