/// A JSON value of any shape, for what has no type of its own.
///
/// ```swift
/// let value: JSONValue = ["name": "till", "ports": [1, 2]]
/// value["name"]?.stringValue          // "till"
/// ```
///
/// `integer` is a number written without fraction and exponent that fits; every other number is a
/// `number`, so 1 and 1.0 differ. An object has no order.
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// Finite: JSON knows no other. `init(_: Double)` refuses what is not, ``encoded()`` writes it as
  /// null, and `Codable` throws.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])
}

// MARK: - Looking inside

extension JSONValue {
  /// nil unless it is finite.
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

  /// Integers too, rounded where a Double is less exact.
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

  /// A member. Reading gives nil where there is none or this is no object; setting turns anything
  /// else into an object, and nil removes the member.
  public subscript(key: String) -> JSONValue? {
    get { objectValue?[key] }
    set {
      var members = objectValue ?? [:]
      self = .null
      members[key] = newValue
      self = .object(members)
    }
  }

  /// An element; nil where there is none or this is no array.
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

  /// A name given twice has its last value.
  public init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(Dictionary(members) { _, last in last })
  }
}
