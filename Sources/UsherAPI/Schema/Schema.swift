import JSONRPC

/// What a value looks like in JSON, read off its Swift type.
///
/// One reading serves three purposes: members that a type does not have are refused, `rpc.discover`
/// and `provider.get` tell it to clients, and a golden file pins it.
public indirect enum Schema: Equatable, Sendable {
  case anything
  case string(oneOf: [String], format: String?)
  case integer
  case number
  case boolean
  case array(of: Schema)
  case map(of: Schema)
  case object([Member])
  /// An object told apart by its member `type`; `name` is the Swift type's.
  case tagged(name: String, [Variant])
  /// The value or `null`; the member itself is always there.
  case nullable(Schema)
  /// A value of one of these forms; no value is of two.
  case either([Schema])

  public struct Member: Equatable, Sendable {
    public var name: String
    public var schema: Schema
    public var isRequired: Bool
  }

  /// One form of a tagged object: what it has besides `type`.
  public struct Variant: Equatable, Sendable {
    public var type: String
    public var members: [Member]
  }

  public static let text = Schema.string(oneOf: [], format: nil)
}

extension Schema {
  /// What in a value does not fit a form, and where: an array's elements go by their index.
  struct Misfit: Equatable {
    var path: [String]
    var what: String
  }

  /// The first misfit in the order of names; nil when there is none.
  ///
  /// It finds what a decoder does not notice, or not the place of: stray members, and numbers that
  /// are no Int64. What is of another type is left to the decoder. Names are compared by their bytes:
  /// to Swift's strings U+212A (KELVIN SIGN) is a K.
  func misfit(in value: JSONValue) -> Misfit? {
    switch self {
    case .anything, .string, .number, .boolean: return nil
    case .integer:
      // A `number` of -2^63 is the rounded value of an integer that Int64 does not hold.
      guard case .number(let number) = value,
        Int64(exactly: number) == nil || number == -0x1p63
      else { return nil }
      return Misfit(path: [], what: "must be an integer of 64 bits")
    case .nullable(let form): return form.misfit(in: value)
    case .either(let forms):
      let misfits = forms.map { $0.misfit(in: value) }
      return misfits.contains(nil) ? nil : misfits.first ?? nil
    case .map(let form):
      for (name, member) in (value.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
        if let misfit = form.misfit(in: member) { return misfit.under(name) }
      }
      return nil
    case .object(let known): return Schema.misfit(in: value.objectValue ?? [:], of: known)
    case .tagged(name: _, let variants):
      let variant = variants.first { value["type"] == .string($0.type) }
      return variant.flatMap { Schema.object($0.allMembers).misfit(in: value) }
    case .array(let form):
      for (index, element) in (value.arrayValue ?? []).enumerated() {
        if let misfit = form.misfit(in: element) { return misfit.under("\(index)") }
      }
      return nil
    }
  }

  /// A caller may send thousands of stray members: they are not sorted.
  private static func misfit(
    in members: [String: JSONValue], of known: [Member]
  ) -> Misfit? {
    let stray = members.keys.lazy.filter { name in
      !known.contains { $0.name.utf8.elementsEqual(name.utf8) }
    }.min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    for member in known.sorted(by: { $0.name < $1.name }) {
      if let stray, stray.utf8.lexicographicallyPrecedes(member.name.utf8) { break }
      guard let value = members[member.name] else { continue }
      if let misfit = member.schema.misfit(in: value) { return misfit.under(member.name) }
    }
    return stray.map { Misfit(path: [$0], what: "is not a parameter") }
  }
}

extension Schema.Misfit {
  fileprivate func under(_ name: String) -> Schema.Misfit {
    Schema.Misfit(path: [name] + path, what: what)
  }
}

extension Schema.Variant {
  /// With the discriminator.
  var allMembers: [Schema.Member] {
    let type = Schema.string(oneOf: [type], format: nil)
    return [.init(name: "type", schema: type, isRequired: true)] + members
  }
}
