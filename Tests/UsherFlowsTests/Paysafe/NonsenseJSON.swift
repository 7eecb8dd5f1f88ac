import JSONRPC
import UsherTestKit

/// Random JSON of the names and values that occur in a provider's replies, the same in every run.
struct NonsenseJSON {
  var dice: SeededGenerator
  let names: [String]
  let texts: [String]
  let integers: [Int64]

  mutating func any<T>(of values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &dice)]
  }

  mutating func value(depth: Int = 4) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &dice) {
    case 0: return .null
    case 1: return .bool(.random(using: &dice))
    case 2: return .integer(any(of: integers))
    case 3: return .number(any(of: [-1.5, 0.5, 3.0, 1519.0, 1e300]))
    case 4, 5: return .string(any(of: texts))
    case 6: return .array((0..<3).map { _ in value(depth: depth - 1) })
    default:
      var members: [String: JSONValue] = [:]
      for _ in 0..<6 { members[any(of: names)] = value(depth: depth - 1) }
      return .object(members)
    }
  }
}
