import JSONRPC

/// The integers that the daemon sends: at most ±2^53, because many JSON readers store every number
/// as a double.
enum ExactIntegers {
  static let limit = 1 << 53

  /// Returns the nearest integer that may be sent.
  static func clamp(_ value: Int) -> Int { min(max(value, -limit), limit) }
}

extension JSONValue {
  /// The value as the daemon sends it. Larger integers, which some providers use as ids, become
  /// strings.
  var wireForm: JSONValue {
    switch self {
    case .integer(let value) where value.magnitude > UInt64(ExactIntegers.limit):
      .string(String(value))
    case .null, .bool, .integer, .number, .string: self
    case .array(let elements): .array(elements.map(\.wireForm))
    case .object(let members): .object(members.mapValues(\.wireForm))
    }
  }
}
