package import JSONRPC
package import UsherAPI

extension Schema {
  /// Returns a sentence for each part of a value that is not as the schema says; empty if the value
  /// is valid. Unlike ``StrictDecoding`` it also checks types, words and missing members.
  ///
  /// - Parameter isOpen: Whether objects may have members that the schema does not list.
  package func complaints(
    about value: JSONValue, at path: String = "value", isOpen: Bool = false
  ) -> [String] {
    switch self {
    case .anything: []
    case .string(let words, format: _):
      value.stringValue.map { words.isEmpty || words.contains($0) } == true
        ? [] : ["\(path) is not a string of \(words)"]
    case .integer: value.integerValue == nil ? ["\(path) is not an integer"] : []
    case .number: value.numberValue == nil ? ["\(path) is not a number"] : []
    case .boolean: value.boolValue == nil ? ["\(path) is not true or false"] : []
    case .onlyTrue: value == true ? [] : ["\(path) is not true"]
    case .nullable(let form):
      value.isNull ? [] : form.complaints(about: value, at: path, isOpen: isOpen)
    case .annotated(let form, _): form.complaints(about: value, at: path, isOpen: isOpen)
    case .array, .map, .object, .tagged, .either:
      complaints(aboutParts: value, at: path, isOpen: isOpen)
    }
  }

  private func complaints(
    aboutParts value: JSONValue, at path: String, isOpen: Bool
  ) -> [String] {
    switch self {
    case .array(let form):
      guard let elements = value.arrayValue else { return ["\(path) is not an array"] }
      return elements.enumerated().flatMap { index, element in
        form.complaints(about: element, at: "\(path).\(index)", isOpen: isOpen)
      }
    case .map(let form):
      guard let members = value.objectValue else { return ["\(path) is not an object"] }
      return members.sorted { $0.key < $1.key }.flatMap { name, member in
        form.complaints(about: member, at: "\(path).\(name)", isOpen: isOpen)
      }
    case .object(let members):
      return Self.complaints(about: value, of: members, at: path, isOpen: isOpen)
    case .tagged(name: _, let variants):
      guard let variant = variants.first(where: { value["type"] == .string($0.type) }) else {
        return ["\(path) has no known type"]
      }
      let type = Member(variant.type, path)
      return Self.complaints(
        about: value, of: [type] + variant.members, at: path, isOpen: isOpen)
    case .either(let forms):
      let count = forms.count {
        $0.complaints(about: value, at: path, isOpen: isOpen).isEmpty
      }
      return count == 1 ? [] : ["\(path) has \(count) of the forms"]
    case .anything, .string, .integer, .number, .boolean, .onlyTrue, .nullable, .annotated:
      return complaints(about: value, at: path, isOpen: isOpen)
    }
  }

  private static func complaints(
    about value: JSONValue, of members: [Member], at path: String, isOpen: Bool
  ) -> [String] {
    guard let values = value.objectValue else { return ["\(path) is not an object"] }
    let known = members.flatMap { member -> [String] in
      guard let value = values[member.name] else {
        return member.isRequired ? ["\(path).\(member.name) is missing"] : []
      }
      return member.schema.complaints(
        about: value, at: "\(path).\(member.name)", isOpen: isOpen)
    }
    let stray = isOpen ? [] : Set(values.keys).subtracting(members.map(\.name)).sorted()
    return known + stray.map { "\(path).\($0) is unknown" }
  }

  /// Returns the paths of the members without a description.
  package func undescribed(_ path: String) -> [String] {
    switch self {
    case .anything, .string, .integer, .number, .boolean, .onlyTrue: []
    case .array(let form), .map(let form), .nullable(let form), .annotated(let form, _):
      form.undescribed(path)
    case .either(let forms): forms.flatMap { $0.undescribed(path) }
    case .object(let members): members.flatMap { $0.undescribed(path) }
    case .tagged(name: _, let variants):
      variants.flatMap { variant in
        (variant.description.isEmpty ? ["\(path)(\(variant.type))"] : [])
          + variant.members.flatMap { $0.undescribed("\(path)(\(variant.type))") }
      }
    }
  }
}

extension Schema.Member {
  fileprivate init(_ type: String, _ path: String) {
    self.init("type", .string(oneOf: [type], format: nil), "The type of \(path).")
  }

  fileprivate func undescribed(_ path: String) -> [String] {
    let path = "\(path).\(name)"
    if case .annotated(_, .description(let text)) = schema, !text.isEmpty {
      return schema.undescribed(path)
    }
    return [path] + schema.undescribed(path)
  }
}
