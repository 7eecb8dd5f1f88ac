/// A line of `/etc/subuid`, read as newuidmap(1) does, and laxer where it is strict: blanks around a field
/// and a carriage return at the end count as not written, more fields than three are ignored.
///
/// A range that newuidmap grants is thus never missed.
enum SubordinateLine: Equatable {
  /// Nothing, or a comment.
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
    // In C a text ends at the byte 0: its name would be another one.
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

  /// Reads a number as strtoul(3) does with base 0: `0x` begins a hexadecimal number, `0b` a binary one,
  /// another `0` an octal one.
  ///
  /// - Returns: At most 2^32, which no id reaches; nil where it is no number, or a negative one.
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
  /// Without what isspace(3) accepts, at both ends.
  fileprivate var withoutBlanks: ArraySlice<UInt8> {
    var part = drop { $0.isBlank }
    while part.last?.isBlank == true { part.removeLast() }
    return part
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || 9...13 ~= self }
}
