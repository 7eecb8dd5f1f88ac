/// Derives the ``Schema`` of a type by calling its `init(from:)` with a decoder that records which
/// members the type decodes.
///
/// The decoder returns placeholder values: `""`, 0, the first case of an enum. A type that rejects
/// the placeholders must be ``SchemaDescribing``. An enum must be `CaseIterable`. Recursive types
/// are not supported.
enum SchemaReader {
  /// Returns the schema of a type. Terminates the process if the schema cannot be derived, because
  /// an incomplete schema would refuse valid calls.
  ///
  /// - Parameter isDocumented: Whether the schema has the descriptions and the component names of
  ///   the types that are ``SchemaDocumented``.
  static func schema<T: Decodable>(of type: T.Type, isDocumented: Bool = false) -> Schema {
    let (schema, value) = read(type, isDocumented: isDocumented)
    guard value != nil else {
      fatalError("the form of \(type) cannot be read: make what it holds describe itself")
    }
    return schema
  }

  /// Returns the schema of a type and a placeholder value; the value is nil if the type rejected
  /// the placeholders of its members.
  fileprivate static func read<T: Decodable>(
    _ type: T.Type, isDocumented: Bool
  ) -> (schema: Schema, value: T?) {
    if let (schema, value) = primitive(type) { return (schema, value as? T) }
    if let described = type as? any SchemaDescribing.Type {
      let schema = isDocumented ? described.documentedSchema : described.schema
      return (schema, described.example as? T)
    }
    if let words = type as? any CaseIterable.Type, let cases = cases(of: words) as? [T],
      let first = cases.first
    {
      let texts = cases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
      return (.string(oneOf: texts, format: nil), first)
    }
    if let map = type as? any StringMap.Type {
      return (.map(of: schema(of: map.valueType, isDocumented: isDocumented)), map.empty as? T)
    }
    if let optional = type as? any NullableForm.Type {
      let form = schema(of: optional.wrappedType, isDocumented: isDocumented)
      return (.nullable(form), optional.absent as? T)
    }
    let recorder = Recorder(
      isDocumented ? type as? any SchemaDocumented.Type : nil, isDocumented: isDocumented)
    let value = try? T(from: RecordingDecoder(recorder: recorder))
    return (recorder.named, value)
  }

  private static func primitive(_ type: any Decodable.Type) -> (Schema, Any)? {
    switch type {
    case is String.Type: (.text, "")
    case is Bool.Type: (.boolean, false)
    case is Double.Type: (.number, 0.0)
    case is Float.Type: (.number, Float(0))
    case let integer as any (FixedWidthInteger & Decodable).Type: (.integer, zero(integer))
    default: nil
    }
  }

  private static func zero<I: FixedWidthInteger>(_ type: I.Type) -> Any { I.zero }

  private static func cases<C: CaseIterable>(of type: C.Type) -> [Any] { Array(type.allCases) }
}

private protocol StringMap {
  static var valueType: any Decodable.Type { get }
  static var empty: Any { get }
}

extension Dictionary: StringMap where Key == String, Value: Decodable {
  fileprivate static var valueType: any Decodable.Type { Value.self }
  fileprivate static var empty: Any { [String: Value]() }
}

/// An optional type of a member. Only ``Nullable`` decodes an optional type directly; a plain
/// optional member is decoded by `decodeIfPresent`.
private protocol NullableForm {
  static var wrappedType: any Decodable.Type { get }
  static var absent: Any { get }
}

extension Optional: NullableForm where Wrapped: Decodable {
  fileprivate static var wrappedType: any Decodable.Type { Wrapped.self }
  fileprivate static var absent: Any { Wrapped?.none as Any }
}

/// Records what a type's `init(from:)` requests of one decoder. The schema of the type is derived
/// from the record.
private final class Recorder {
  var schema: Schema = .object([])
  let isDocumented: Bool
  private let documentation: (any SchemaDocumented.Type)?
  private let descriptions: [String: String]
  private let components: [String: String]
  private var optionals: Set<String> = []

  init(_ documentation: (any SchemaDocumented.Type)?, isDocumented: Bool) {
    self.documentation = documentation
    self.isDocumented = isDocumented
    descriptions = documentation?.memberDescriptions ?? [:]
    components = documentation?.memberComponents ?? [:]
  }

  /// The schema of the type whose `init(from:)` was recorded. If the OpenRPC document defines that
  /// type in `components.schemas` (``SchemaDocumented/component``), the schema carries the
  /// component's name.
  var named: Schema {
    assert(
      Set(descriptions.keys).isSubset(of: schema.members.map(\.name)),
      "the description of a member stays although the member is gone: \(descriptions.keys.sorted())"
    )
    return documentation?.component.map { .annotated(schema, .component($0)) } ?? schema
  }

  /// Returns a placeholder for a value that the recorded type decodes, after the schema of the
  /// value's type is recorded.
  ///
  /// - Throws: ``Refused`` if that type rejected the placeholders of its own members.
  func placeholder<T: Decodable>(for type: T.Type, record: (Schema) -> Void) throws -> T {
    let (schema, value) = SchemaReader.read(type, isDocumented: isDocumented)
    record(schema)
    guard let value else { throw Refused() }
    return value
  }

  func recordOptional(_ name: String) { optionals.insert(name) }

  func recordMember(_ name: String, _ schema: Schema) {
    guard case .object(var members) = self.schema else { return }
    guard !members.contains(where: { $0.name == name }) else { return }
    let isRequired = schema.isNullable || !optionals.contains(name)
    members.append(.init(name: name, schema: annotated(name, schema), isRequired: isRequired))
    self.schema = .object(members)
  }

  private func annotated(_ name: String, _ schema: Schema) -> Schema {
    var schema = schema
    if let component = components[name] { schema = schema.referring(to: component) }
    return descriptions[name].map { .annotated(schema, .description($0)) } ?? schema
  }
}

extension Schema {
  fileprivate var isNullable: Bool {
    if case .nullable = self { true } else { false }
  }

  fileprivate func referring(to component: String) -> Schema {
    if case .nullable(let form) = self { return .nullable(form.referring(to: component)) }
    return .annotated(self, .reference(component))
  }
}

/// The error of a recording decoder if a type decodes a value for which there is no placeholder.
private struct Refused: Error {}

private struct RecordingDecoder: Decoder {
  let recorder: Recorder
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordingMembers(recorder: recorder))
  }
  func unkeyedContainer() -> any UnkeyedDecodingContainer { RecordingElements(recorder: recorder) }
  func singleValueContainer() -> any SingleValueDecodingContainer {
    RecordingValue(recorder: recorder)
  }
}

private struct RecordingMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recorder: Recorder
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool {
    recorder.recordOptional(key.stringValue)
    return true
  }
  func decodeNil(forKey key: Key) -> Bool { false }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try recorder.placeholder(for: type) { recorder.recordMember(key.stringValue, $0) }
  }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw Refused() }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw Refused()
  }
  func superDecoder() throws -> any Decoder { throw Refused() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw Refused() }
}

private struct RecordingElements: UnkeyedDecodingContainer {
  let recorder: Recorder
  var codingPath: [any CodingKey] { [] }
  var count: Int? { nil }
  var isAtEnd: Bool { currentIndex > 0 }
  var currentIndex = 0

  init(recorder: Recorder) { self.recorder = recorder }

  mutating func decodeNil() -> Bool { false }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    currentIndex += 1
    return try recorder.placeholder(for: type) { recorder.schema = .array(of: $0) }
  }
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { throw Refused() }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Refused() }
  mutating func superDecoder() throws -> any Decoder { throw Refused() }
}

private struct RecordingValue: SingleValueDecodingContainer {
  let recorder: Recorder
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool { false }
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try recorder.placeholder(for: type) { recorder.schema = $0 }
  }
}
