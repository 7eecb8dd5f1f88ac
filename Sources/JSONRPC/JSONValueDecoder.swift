/// Decodes a type from a ``JSONValue`` in memory, without encoding the value first.
///
/// The decoder accepts the same values as Foundation's `JSONDecoder`, and reports errors as
/// `DecodingError` with the coding path. A ``JSONValue`` member gets its value directly, without
/// decoding.
package struct JSONValueDecoder: Decoder {
  let value: JSONValue
  fileprivate let path: Path

  package var codingPath: [any CodingKey] { path.keys }
  package var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Decodes a value.
  ///
  /// - Throws: `DecodingError`, or an error of the type's initializer.
  package static func decode<T: Decodable>(
    _ type: T.Type, from value: JSONValue
  ) throws -> T {
    try Place(value: value, path: .root).decode(type)
  }

  package func container<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else {
      throw Place(value: value, path: path).mismatch([String: Any].self)
    }
    return KeyedDecodingContainer(Members(members: members, path: path))
  }

  package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else {
      throw Place(value: value, path: path).mismatch([Any].self)
    }
    return Elements(elements: elements, path: path)
  }

  package func singleValueContainer() -> any SingleValueDecodingContainer {
    Place(value: value, path: path)
  }
}

/// A coding path as a linked list. The decoder turns it into an array only when it reports an
/// error.
private indirect enum Path {
  case root
  case below(Path, any CodingKey)

  var keys: [any CodingKey] {
    var keys: [any CodingKey] = []
    var place = self
    while case .below(let parent, let key) = place {
      keys.append(key)
      place = parent
    }
    return keys.reversed()
  }
}

private struct Index: CodingKey {
  let index: Int

  init(_ index: Int) { self.index = index }
  init?(stringValue: String) { nil }
  init?(intValue: Int) { index = intValue }
  var stringValue: String { "Index \(index)" }
  var intValue: Int? { index }
}

// MARK: - One value

private struct Place: SingleValueDecodingContainer {
  let value: JSONValue
  let path: Path

  var codingPath: [any CodingKey] { path.keys }

  func decodeNil() -> Bool { value.isNull }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    if let native = try native(as: type) {
      guard let native = native as? T else { throw mismatch(type) }
      return native
    }
    return try T(from: JSONValueDecoder(value: value, path: path))
  }

  /// Returns the value itself if `type` is a string, a Boolean, a number or ``JSONValue``, or an
  /// array or object of `JSONValue`; nil for any other type, which decodes itself.
  ///
  /// - Throws: `DecodingError.typeMismatch` if the value is not of that type.
  private func native(as type: any Decodable.Type) throws -> Any? {
    switch type {
    case is JSONValue.Type: return value
    case is String.Type: return try require(String.self, value.stringValue)
    case is Bool.Type: return try require(Bool.self, value.boolValue)
    case is Double.Type: return try require(Double.self, value.numberValue)
    case is Float.Type: return try require(Float.self, value.numberValue.map { Float($0) })
    case let integer as any (FixedWidthInteger & Decodable).Type:
      return try require(integer: integer)
    case is [JSONValue].Type: return value.arrayValue
    case is [String: JSONValue].Type: return value.objectValue
    default: return nil
    }
  }

  private func require<T>(_ type: T.Type, _ value: T?) throws -> T {
    guard let value else { throw mismatch(type) }
    return value
  }

  /// Returns the value as an integer. A number with a fraction of zero is accepted. A `number` of
  /// magnitude 2^63 or more is refused, because it is the rounded value of an integer that `Int64`
  /// cannot represent.
  private func require<I: FixedWidthInteger>(integer type: I.Type) throws -> I {
    switch value {
    case .integer(let value): try require(type, I(exactly: value))
    case .number(let value) where value.magnitude < 0x1p63: try require(type, I(exactly: value))
    case .null, .bool, .number, .string, .array, .object: throw mismatch(type)
    }
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: "")
    return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }
}

// MARK: - Objects and arrays

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [String: JSONValue]
  let path: Path

  var codingPath: [any CodingKey] { path.keys }
  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func place(_ key: some CodingKey) throws -> Place {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: ""))
    }
    return Place(value: value, path: .below(path, key))
  }

  private func decoder(_ key: some CodingKey) throws -> JSONValueDecoder {
    let place = try place(key)
    return JSONValueDecoder(value: place.value, path: place.path)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try place(key).decodeNil() }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try place(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    JSONValueDecoder(value: .object(members), path: path)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct Elements: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let path: Path
  private(set) var currentIndex = 0

  var codingPath: [any CodingKey] { path.keys }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  private func place() throws -> Place {
    let path = Path.below(path, Index(currentIndex))
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: path.keys, debugDescription: ""))
    }
    return Place(value: elements[currentIndex], path: path)
  }

  private mutating func decoder() throws -> JSONValueDecoder {
    let place = try place()
    currentIndex += 1
    return JSONValueDecoder(value: place.value, path: place.path)
  }

  mutating func decodeNil() throws -> Bool {
    guard try place().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let decoded = try place().decode(type)
    currentIndex += 1
    return decoded
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try decoder().container(keyedBy: type) }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try decoder().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try decoder() }
}
