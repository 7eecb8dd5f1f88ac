// Ids by what they mean, for `rpc.cancel`.
extension RequestID {
  /// The id that stands in a call's parameters, as it is written there.
  ///
  /// - Parameter bytes: A value of a line that the scanner has accepted.
  /// - Returns: Nil for a value that cannot be an id.
  package init?(value bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Self.longest, var reader = try? Reader(bytes, nesting: 1),
      let token = try? reader.value()
    else { return nil }
    switch token.kind {
    case .string, .number, .null: self.init(token, in: bytes)
    case .bool, .object, .array: return nil
    }
  }

  /// Whether both are the same string, or numbers of the same value, however they are written.
  package func hasValue(of other: RequestID) -> Bool {
    if self == other { return true }
    guard let number = DecimalNumber(raw) else { return false }
    return number == DecimalNumber(other.raw)
  }
}

/// The exact value of a JSON number: 0.digits × 10^exponent.
private struct DecimalNumber: Equatable {
  private var isNegative = false
  /// Without zeros at either end; none for zero.
  private var digits: [UInt8] = []
  private var exponent = 0

  /// Nil for what is no number, is too long, or has an exponent that no Int32 holds.
  init?(_ json: [UInt8]) {
    guard let first = json.first, first == UInt8(ascii: "-") || first &- 0x30 < 10,
      json.count <= RequestID.longest
    else { return nil }
    isNegative = first == UInt8(ascii: "-")
    let parts = json.drop { $0 == UInt8(ascii: "-") }
      .split(maxSplits: 1) { $0 | 0x20 == UInt8(ascii: "e") }
    let mantissa = parts[0].split(separator: UInt8(ascii: "."), maxSplits: 1)
    if parts.count > 1 {
      guard let written = Int32(String(decoding: parts[1], as: UTF8.self)) else { return nil }
      exponent = Int(written)
    }
    let whole = mantissa[0].drop { $0 == UInt8(ascii: "0") }
    digits = Array(whole) + (mantissa.count > 1 ? Array(mantissa[1]) : [])
    exponent += whole.count
    let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
    digits.removeFirst(zeros)
    exponent -= zeros
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    if digits.isEmpty { (isNegative, exponent) = (false, 0) }
  }
}
