/// The key that wraps the store's data key: 32 bytes.
package struct MasterKey: Sendable {
  /// Its length in bytes.
  package static let length = 32

  package let bytes: LockedBytes
  package let origin: Origin

  /// Where it came from: what `status` and `doctor` say.
  package enum Origin: Sendable, Equatable {
    case systemdCredential
    case keyFile(String)
  }
}

/// The forms in which a key is written down: 32 raw bytes, 64 hexadecimal digits, or Base64 of 32
/// bytes; a text form may end in one newline.
///
/// It works from buffer to buffer so that no copy of the key stays behind.
enum MasterKeyText {
  /// No form is longer.
  static let longest = 65

  /// Writes the key to `key`, which has 32 bytes; false where `text` is none of the forms.
  static func decode(_ text: UnsafeRawBufferPointer, into key: UnsafeMutableRawBufferPointer)
    -> Bool
  {
    if text.count == MasterKey.length {
      // 32 characters of hexadecimal are a key of 16 bytes by mistake.
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

  /// 43 digits of RFC 4648 §4: 256 bits and two that must be zero.
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
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
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
