import JSONRPC

extension FuzzTarget {
  /// The scanner, the parser of values, the parser of server messages and an independent parser
  /// accept the same texts; the scanner finds the members that the parsed value has; and a value
  /// survives encoding.
  static let json = FuzzTarget("json", words: ["JSONRPC"]) { line in
    let limits = JSONLimits(nesting: 9, batch: 4)
    let isJSON = ReferenceParser.accepts(line, nesting: limits.nesting)
    let scanned = Scanner(limits: limits).scan(line)
    try require(scanned.isJSON == isJSON, "the scanner and the reference parser disagree")
    guard let value = try parsed(line, limits, isJSON) else { return }
    let encoded = value.encoded()
    try require(ReferenceParser.accepts(encoded, nesting: limits.nesting), "not JSON: \(encoded)")
    try require(
      try JSONValue(parsing: encoded, limits: limits) == value, "encoding changes the value")
    try line.withUnsafeBytes { bytes in
      try MessageCheck(line: bytes, limits: limits).check(scanned, value)
      if (try? ServerMessage.read(bytes, limits: limits)) != nil {
        try require(isJSON, "a server message is not JSON")
      }
    }
    guard case .object(let members) = value else { return }
    let ranges = try ObjectMembers(of: line)
    for (name, member) in members {
      guard let range = ranges[name] else {
        throw PropertyViolation(description: "ObjectMembers lacks \(name)")
      }
      try require(
        try JSONValue(parsing: Array(line[range])) == member, "ObjectMembers finds another value")
    }
  }
}

/// Returns the value of a text; nil if the parser of values refuses the text.
private func parsed(_ text: [UInt8], _ limits: JSONLimits, _ isJSON: Bool) throws -> JSONValue? {
  do {
    let value = try JSONValue(parsing: text, limits: limits)
    try require(isJSON, "the parser of values accepts a text that is not JSON")
    return value
  } catch let error as JSONSyntaxError {
    // The parser of values also refuses what a value cannot represent: large numbers, and names
    // that differ only in their Unicode normalization.
    let isUnrepresentable =
      error.problem == .numberOutOfRange
      || error.problem == .duplicateMember && text.contains { $0 >= 0x80 || $0 == 0x5C }
    try require(!isJSON || isUnrepresentable, "the parser of values refuses: \(error)")
    return nil
  }
}

extension Scanned {
  fileprivate var isJSON: Bool {
    switch self {
    case .call, .batch: return true
    case .looksLikeHTTP: return false
    case .refused(let refusal):
      if case .syntax = refusal.reason { return false }
      return true
    }
  }
}

/// Compares what the scanner found in a line with the line's parsed value.
private struct MessageCheck {
  let line: UnsafeRawBufferPointer
  let limits: JSONLimits

  func check(_ scanned: Scanned, _ value: JSONValue) throws {
    switch (scanned, value) {
    case (.call(let call), .object(let members)): try check(call, members)
    case (.refused(let refusal), _): try check(refusal, value)
    case (.batch(let elements), .array(let values)):
      try require(elements.count == values.count, "the batch has \(values.count) elements")
      for (element, value) in zip(elements, values) {
        switch element {
        case .call(let call): try check(call, value.objectValue ?? [:])
        case .refused(let refusal): try check(refusal, value)
        }
      }
    case (.call, _), (.batch, _), (.looksLikeHTTP, _):
      throw PropertyViolation(description: "the scanner found another kind of message")
    }
  }

  private func check(_ refusal: Refusal, _ value: JSONValue) throws {
    guard case .object(let members) = value else { return }
    try require(
      !Self.isCall(members) || refusal.reason == .idTooLong, "a call is refused: \(refusal.message)"
    )
    let echoed = try JSONValue(parsing: refusal.idBytes(in: line))
    try require(echoed == members["id"] ?? .null || echoed.isNull, "another id is echoed")
  }

  private func check(_ call: Envelope, _ members: [String: JSONValue]) throws {
    try require(Self.isCall(members), "what the scanner accepts is not a call")
    let method = members["method"]?.stringValue ?? ""
    try require(call.method(in: line).utf8.elementsEqual(method.utf8), "another method")
    try require(call.kind == (members["id"] == nil ? .notification : .request), "another kind")
    try require(try value(of: call.idBytes(in: line)) == members["id"], "another id")
    let params = call.paramsBytes(in: line)
    try require(try value(of: params) == members["params"], "other params")
    guard let params, let object = members["params"]?.objectValue else { return }
    let names: [StaticString] = ["provider", "account", "id"]
    for (name, found) in zip(names, MemberSearch.find(names, in: params)) {
      let expected = object["\(name)"]
      switch found {
      case nil: try require(expected == nil, "MemberSearch does not find \(name)")
      case .text(let text): try require(expected == .string(text), "another \(name)")
      case .other(let range):
        let part = UnsafeRawBufferPointer(rebasing: params[range])
        try require(try value(of: part) == expected, "another \(name)")
      }
    }
  }

  private func value(of bytes: UnsafeRawBufferPointer?) throws -> JSONValue? {
    try bytes.map { try JSONValue(parsing: $0) }
  }

  /// Whether the members are those of a call, except for the length of its id.
  private static func isCall(_ members: [String: JSONValue]) -> Bool {
    guard members["jsonrpc"] == "2.0", members["method"]?.stringValue != nil else { return false }
    switch members["params"] {
    case nil, .object, .array: break
    default: return false
    }
    switch members["id"] {
    case nil, .null, .string, .integer, .number: return true
    default: return false
    }
  }
}
