// Compares ids by value, to find the call that `rpc.cancel` names.
extension RequestID {
  /// Creates an id from a value in the parameters of a call.
  ///
  /// - Parameter bytes: The bytes of the value, from a line that the scanner has accepted.
  /// - Returns: Nil for a value that cannot be an id.
  package init?(value bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Self.maxBytes, var reader = try? Reader(bytes, nesting: 1),
      let token = try? reader.value()
    else { return nil }
    switch token.kind {
    case .string, .number, .null: self.init(token, in: bytes)
    case .bool, .object, .array: return nil
    }
  }

  /// Returns whether both ids are the same string, or numbers with the same value, however they are
  /// written.
  package func hasValue(of other: RequestID) -> Bool {
    if self == other { return true }
    guard let number = DecimalNumber(raw) else { return false }
    return number == DecimalNumber(other.raw)
  }
}

/// The exact value of a JSON number: 0.digits × 10^exponent.
private struct DecimalNumber: Equatable {
  private var isNegative = false
  /// The digits without leading and trailing zeros; empty for zero.
  private var digits: [UInt8] = []
  private var exponent = 0

  /// Reads a number; nil if the value is not a number, is too long, or has an exponent out of the
  /// range of `Int32`.
  init?(_ json: [UInt8]) {
    guard let first = json.first, first == UInt8(ascii: "-") || first &- 0x30 < 10,
      json.count <= RequestID.maxBytes
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
