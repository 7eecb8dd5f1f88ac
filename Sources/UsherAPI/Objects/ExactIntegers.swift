import JSONRPC

/// RPC.md § Transport: no integer above 2^53, for readers that keep every number as a double.
enum ExactIntegers {
  static let limit = 1 << 53

  /// The nearest integer that may be sent.
  static func clamp(_ value: Int) -> Int { min(max(value, -limit), limit) }
}

extension JSONValue {
  /// The value as it may be sent: larger integers, as a provider may use for its ids, become
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
