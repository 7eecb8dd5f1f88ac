/// A line of `/etc/subuid`, parsed like newuidmap(1) but more leniently.
///
/// Blanks around a field, a carriage return at the end and additional fields are ignored. So no
/// range that newuidmap grants is missed, whichever variant of it is installed.
enum SubordinateLine: Equatable {
  /// An empty line, a comment, or a range that contains no ids.
  case empty
  case malformed
  case range(owner: String, ids: ClosedRange<UInt32>)

  init(_ line: ArraySlice<UInt8>) {
    let line = line.withoutBlanks
    guard let start = line.first, start != UInt8(ascii: "#") else {
      self = .empty
      return
    }
    let fields = line.split(
      separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
    // A name with a NUL byte is refused: C programs such as newuidmap end the string at that byte
    // and would read a different name.
    guard fields.count >= 3, !line.contains(0), case let name = fields[0].withoutBlanks,
      !name.isEmpty, let first = Self.number(fields[1]).flatMap({ UInt32(exactly: $0) }),
      let count = Self.number(fields[2])
    else {
      self = .malformed
      return
    }
    guard count > 0 else {
      self = .empty
      return
    }
    let last = UInt32(clamping: UInt64(first) + count - 1)
    self = .range(owner: String(decoding: name, as: UTF8.self), ids: first...last)
  }

  /// Parses a number like strtoul(3) with base 0: `0x` starts a hexadecimal number, `0b` a binary
  /// one, any other leading `0` an octal one.
  ///
  /// - Returns: At most 2^32, which is more than any id. Nil if the text is not a number, or is a
  ///   negative one.
  private static func number(_ field: ArraySlice<UInt8>) -> UInt64? {
    var digits = field.withoutBlanks
    if digits.first == UInt8(ascii: "+") { digits.removeFirst() }
    var base: UInt64 = 10
    if digits.count > 1, digits.first == UInt8(ascii: "0") {
      digits.removeFirst()
      switch digits.first.map({ $0 | 0x20 }) {
      case UInt8(ascii: "x"): base = 16
      case UInt8(ascii: "b"): base = 2
      default: base = 8
      }
      if base != 8 { digits.removeFirst() }
    }
    guard !digits.isEmpty else { return nil }
    var number: UInt64 = 0
    for digit in digits {
      guard let value = Character(Unicode.Scalar(digit)).hexDigitValue, value < base else {
        return nil
      }
      number = min(number * base + UInt64(value), 1 << 32)
    }
    return number
  }
}

extension ArraySlice<UInt8> {
  /// The slice without leading and trailing bytes that isspace(3) accepts.
  fileprivate var withoutBlanks: ArraySlice<UInt8> {
    var part = drop { $0.isBlank }
    while part.last?.isBlank == true { part.removeLast() }
    return part
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || 9...13 ~= self }
}
