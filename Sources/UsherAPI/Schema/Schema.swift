import JSONRPC

/// The form of a value in JSON, derived from its Swift type.
///
/// A schema has three uses: the daemon refuses members that a type does not have, `rpc.discover`
/// and `provider.get` return it to clients, and a test compares it with a golden file.
public indirect enum Schema: Equatable, Sendable {
  case anything
  case string(oneOf: [String], format: String?)
  case integer
  case number
  case boolean
  /// The value `true`, for a member such as `resend` in which only its presence matters.
  case onlyTrue
  case array(of: Schema)
  case map(of: Schema)
  case object([Member])
  /// An object whose member `type` determines its other members; `name` is the name of the Swift
  /// type.
  case tagged(name: String, [Variant])
  /// A member that is always present: a value of this schema, or `null`.
  case nullable(Schema)
  /// A value that fits exactly one of these schemas.
  case either([Schema])
  /// A schema with its description. It occurs only in documented schemas, which
  /// ``StrictDecoding/documentedSchema(of:)`` returns, never in one that decodes calls.
  case annotated(Schema, Annotation)

  public struct Member: Equatable, Sendable {
    public var name: String
    public var schema: Schema
    public var isRequired: Bool
  }

  /// One form of a tagged object: a value of `type`, and the other members that go with it.
  public struct Variant: Equatable, Sendable {
    public var type: String
    public var members: [Member]
    public var description = ""
  }

  /// A text for people about a member, or the place of a component.
  public enum Annotation: Equatable, Sendable {
    case description(String)
    /// The schema is the definition of the component with this name.
    case component(SchemaComponent)
    /// A reference to the component with this name, which the document defines elsewhere, replaces
    /// the schema.
    case reference(String)
  }

  public static let text = Schema.string(oneOf: [], format: nil)
  public static let time = Schema.string(oneOf: [], format: "date-time")
}

extension Schema.Member {
  /// Creates a member of an object with its description.
  public init(_ name: String, _ schema: Schema, _ description: String, isRequired: Bool = true) {
    self.init(
      name: name, schema: .annotated(schema, .description(description)), isRequired: isRequired)
  }
}

extension Schema {
  /// A part of a value that does not match a schema, with its path. An element of an array has its
  /// index as its name.
  struct Mismatch: Equatable {
    var path: [String]
    var what: String
  }

  /// Returns the first part of the value, in the order of names, that does not match this schema;
  /// nil if all match.
  ///
  /// Finds only the errors that a decoder does not notice or cannot locate: unknown members, and
  /// numbers that do not fit `Int64`. The decoder reports wrong types. Names are compared byte by
  /// byte, because `String` considers U+212A (KELVIN SIGN) equal to K.
  func mismatch(in value: JSONValue) -> Mismatch? {
    switch self {
    case .anything, .string, .number, .boolean, .onlyTrue: return nil
    case .integer:
      // The parser returns -2^63 as a `number` only for an integer that Int64 cannot represent.
      guard case .number(let number) = value,
        Int64(exactly: number) == nil || number == -0x1p63
      else { return nil }
      return Mismatch(path: [], what: "must be a 64-bit integer")
    case .nullable(let form), .annotated(let form, _): return form.mismatch(in: value)
    case .either(let forms):
      let mismatches = forms.map { $0.mismatch(in: value) }
      return mismatches.contains(nil) ? nil : mismatches.first ?? nil
    case .map(let form):
      for (name, member) in (value.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
        if let mismatch = form.mismatch(in: member) { return mismatch.under(name) }
      }
      return nil
    case .object(let known): return Schema.mismatch(in: value.objectValue ?? [:], of: known)
    case .tagged(name: _, let variants):
      let variant = variants.first { value["type"] == .string($0.type) }
      return variant.flatMap { Schema.object($0.allMembers).mismatch(in: value) }
    case .array(let form):
      for (index, element) in (value.arrayValue ?? []).enumerated() {
        if let mismatch = form.mismatch(in: element) { return mismatch.under("\(index)") }
      }
      return nil
    }
  }

  // Unknown members are not sorted, because a caller may send thousands of them.
  private static func mismatch(
    in members: [String: JSONValue], of known: [Member]
  ) -> Mismatch? {
    let unexpected = members.keys.lazy.filter { name in
      !known.contains { $0.name.utf8.elementsEqual(name.utf8) }
    }.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    for member in known.sorted(by: { $0.name < $1.name }) {
      if let unexpected, unexpected.utf8.lexicographicallyPrecedes(member.name.utf8) { break }
      guard let value = members[member.name] else { continue }
      if let mismatch = member.schema.mismatch(in: value) { return mismatch.under(member.name) }
    }
    return unexpected.map { Mismatch(path: [$0], what: "is not a parameter") }
  }
}

extension Schema.Mismatch {
  fileprivate func under(_ name: String) -> Schema.Mismatch {
    Schema.Mismatch(path: [name] + path, what: what)
  }
}

extension Schema.Variant {
  /// The members of the object, including `type`.
  var allMembers: [Schema.Member] {
    let type = Schema.string(oneOf: [type], format: nil)
    return [.init(name: "type", schema: type, isRequired: true)] + members
  }
}
