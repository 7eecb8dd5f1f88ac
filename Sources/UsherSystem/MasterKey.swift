/// The 32-byte key that encrypts the data key of the database, which in turn encrypts the rows.
package struct MasterKey: Sendable {
  /// The length of the key in bytes.
  package static let length = 32

  package let bytes: LockedBytes
  package let origin: Origin

  /// The source of the key, which the RPC method `status` and the command `usherctl doctor` report.
  package enum Origin: Sendable, Equatable {
    case systemdCredential
    case keyFile(String)
  }
}

/// The accepted encodings of a master key in a systemd credential: 32 raw bytes, 64 hexadecimal
/// digits, or Base64 of 32 bytes. A text encoding may end with one newline.
///
/// Decodes from buffer to buffer, so that no copy of the key remains in memory.
enum MasterKeyText {
  /// The length of the longest accepted encoding in bytes: 64 hexadecimal digits and a newline.
  static let maxLength = 65

  /// Writes the decoded key to `key`, which has 32 bytes. Returns false if `text` is not a valid
  /// encoding.
  static func decode(_ text: UnsafeRawBufferPointer, into key: UnsafeMutableRawBufferPointer)
    -> Bool
  {
    if text.count == MasterKey.length {
      // 32 hexadecimal digits are probably a 16-byte key that was given by mistake.
      guard !text.allSatisfy({ hexDigit($0) != nil }) else { return false }
      key.copyMemory(from: text)
      return true
    }
    let isEnded = text.last == UInt8(ascii: "\n")
    let line = UnsafeRawBufferPointer(rebasing: isEnded ? text.dropLast() : text[...])
    return switch line.count {
    case 64: decodeHex(line, into: key)
    case 43: decodeBase64(line[...], into: key)
    case 44 where line.last == UInt8(ascii: "="): decodeBase64(line.dropLast(), into: key)
    default: false
    }
  }

  private static func decodeHex(
    _ text: UnsafeRawBufferPointer, into key: UnsafeMutableRawBufferPointer
  ) -> Bool {
    for index in 0..<MasterKey.length {
      guard let high = hexDigit(text[2 * index]), let low = hexDigit(text[2 * index + 1]) else {
        return false
      }
      key[index] = high << 4 | low
    }
    return true
  }

  /// Decodes 43 digits of RFC 4648 §4, which are 256 bits and two more bits that must be zero.
  private static func decodeBase64(
    _ text: Slice<UnsafeRawBufferPointer>, into key: UnsafeMutableRawBufferPointer
  ) -> Bool {
    var bits: UInt32 = 0
    var count = 0
    var index = 0
    for digit in text {
      guard let value = base64Digit(digit) else { return false }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        key[index] = UInt8(truncatingIfNeeded: bits >> count)
        index += 1
      }
    }
    return index == MasterKey.length && bits & 0b11 == 0
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
  }

  private static func base64Digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
