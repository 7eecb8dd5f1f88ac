extension JSONValue {
  /// Parses a JSON text, as strictly as the scanner parses a line.
  ///
  /// Also refuses values that ``JSONValue`` could not represent unchanged: a number out of the
  /// range of `Double`, and two names in one object that `String` considers equal (`é` precomposed
  /// and decomposed). Integers out of the range of `Int64` become the nearest `Double`.
  ///
  /// - Parameter limits: Only the limits of the nesting and of the number of values are applied.
  public init(
    parsing bytes: UnsafeRawBufferPointer, limits: JSONLimits = JSONLimits()
  ) throws(JSONSyntaxError) {
    var reader = try Reader(bytes, nesting: limits.nesting)
    var left = limits.values
    self = try reader.jsonValue(&left)
    try reader.finish()
  }

  public init(
    parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()
  ) throws(JSONSyntaxError) {
    self = try bytes.span.bytes.withUnsafeBytes { bytes throws(JSONSyntaxError) in
      try JSONValue(parsing: bytes, limits: limits)
    }
  }

  public init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONSyntaxError) {
    try self.init(parsing: Array(text.utf8), limits: limits)
  }

  /// Returns the value as compact JSON in UTF-8, without line breaks. Members are sorted by the
  /// bytes of their names, so that equal values give equal bytes. A number that is not finite
  /// becomes null.
  public func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendJSON(self)
    return bytes
  }
}

extension [UInt8] {
  /// Appends the result of ``JSONValue/encoded()``.
  package mutating func appendJSON(_ value: JSONValue) {
    switch value {
    case .null: append("null")
    case .bool(let value): append(value ? "true" : "false")
    case .integer(let value): append(contentsOf: String(value).utf8)
    case .number(let value) where value.isFinite: append(contentsOf: value.description.utf8)
    case .number: append("null")
    case .string(let value): appendJSONString(value)
    case .array(let elements): appendJSON(elements)
    case .object(let members): appendJSON(members)
    }
  }

  private mutating func appendJSON(_ elements: [JSONValue]) {
    append("[")
    for (index, element) in elements.enumerated() {
      if index > 0 { append(",") }
      appendJSON(element)
    }
    append("]")
  }

  private mutating func appendJSON(_ members: [String: JSONValue]) {
    append("{")
    let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    for (index, member) in sorted.enumerated() {
      if index > 0 { append(",") }
      appendJSONString(member.key)
      append(":")
      appendJSON(member.value)
    }
    append("}")
  }
}

extension Reader {
  /// Reads the value at the current position, as ``value()`` does, and returns it.
  ///
  /// - Parameter left: The number of values that may still be read; the call decreases it.
  mutating func jsonValue(_ left: inout Int) throws(JSONSyntaxError) -> JSONValue {
    guard left > 0 else { throw JSONSyntaxError(.tooManyValues, at: at) }
    left -= 1
    switch current {
    case UInt8(ascii: "{"): return .object(try jsonMembers(&left))
    case UInt8(ascii: "["): return .array(try jsonElements(&left))
    default: break
    }
    let token = try value()
    switch token.kind {
    case .string(let text): return .string(bytes.string(text))
    case .number(let isInteger): return try number(token.range, isInteger: isInteger)
    case .bool(let value): return .bool(value)
    case .null, .object, .array: return .null
    }
  }

  private func number(
    _ range: Range<Int>, isInteger: Bool
  ) throws(JSONSyntaxError) -> JSONValue {
    let text = String(decoding: bytes.part(range), as: UTF8.self)
    if isInteger, let value = Int64(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else {
      throw JSONSyntaxError(.numberOutOfRange, at: range.lowerBound)
    }
    return .number(value)
  }

  private mutating func jsonElements(
    _ left: inout Int
  ) throws(JSONSyntaxError) -> [JSONValue] {
    try enterContainer()
    var elements: [JSONValue] = []
    var isFirst = true
    while try nextElement(&isFirst) { elements.append(try jsonValue(&left)) }
    return elements
  }

  private mutating func jsonMembers(
    _ left: inout Int
  ) throws(JSONSyntaxError) -> [String: JSONValue] {
    try enterContainer()
    var members: [String: JSONValue] = [:]
    var names = MemberNames()
    while let name = try nextMember(&names) {
      let start = name.range.lowerBound
      let key = bytes.string(name)
      guard members.updateValue(try jsonValue(&left), forKey: key) == nil else {
        throw JSONSyntaxError(.duplicateMember, at: start)
      }
    }
    return members
  }
}
