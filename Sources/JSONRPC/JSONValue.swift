/// A JSON value of any form, for data that has no Swift type of its own.
///
/// ```swift
/// let value: JSONValue = ["name": "till", "ports": [1, 2]]
/// value["name"]?.stringValue          // "till"
/// ```
///
/// A number without fraction and exponent that fits `Int64` is an `integer`; every other number is
/// a `number`. So 1 and 1.0 differ. The members of an object have no order.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A finite number, because JSON has no others. For a number that is not finite `init(_: Double)`
  /// returns nil, ``encoded()`` writes null, and `Codable` throws.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])
}

// MARK: - Looking inside

extension JSONValue {
  /// Creates a number; nil if `number` is infinite or NaN.
  public init?(_ number: Double) {
    guard number.isFinite else { return nil }
    self = .number(number)
  }

  public var isNull: Bool { self == .null }

  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  public var integerValue: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The value of a number or integer. Large integers are rounded to the nearest `Double`.
  public var numberValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .null, .bool, .string, .array, .object: nil
    }
  }

  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  public var arrayValue: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  public var objectValue: [String: JSONValue]? {
    if case .object(let value) = self { value } else { nil }
  }

  /// A member of an object. Reading returns nil if there is no such member or the value is not an
  /// object. Setting replaces a value that is not an object with one; setting nil removes the
  /// member.
  public subscript(key: String) -> JSONValue? {
    get { objectValue?[key] }
    set {
      var members = objectValue ?? [:]
      self = .null
      members[key] = newValue
      self = .object(members)
    }
  }

  /// An element of an array; nil if there is no such element or the value is not an array.
  public subscript(index: Int) -> JSONValue? {
    guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
    return elements[index]
  }
}

// MARK: - Literals

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringInterpolation,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Creates an object. If a member name occurs twice, the last value is used.
  public init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(Dictionary(members) { _, last in last })
  }
}
