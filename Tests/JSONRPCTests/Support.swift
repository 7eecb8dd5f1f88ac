import JSONRPC

extension Scanner {
  func scan(_ line: String) -> Scanned { scan(Array(line.utf8)) }
}

extension Scanned {
  var call: Envelope? {
    if case .call(let call) = self { call } else { nil }
  }

  var refusal: Refusal? {
    if case .refused(let refusal) = self { refusal } else { nil }
  }

  /// The syntax problem, if the line was refused because of one.
  var syntaxProblem: JSONSyntaxError.Problem? {
    if case .syntax(let problem) = refusal?.reason { problem } else { nil }
  }
}

extension RequestID {
  /// Creates the id that a text is, with only those escapes that JSON requires.
  init(_ text: String) {
    let json = JSONValue.string(text).encoded()
    self = json.withUnsafeBytes { RequestID(value: $0) } ?? .null
  }
}

extension [UInt8] {
  var text: String { String(decoding: self, as: UTF8.self) }
}

/// Runs `body` with the line's bytes, for accessors that take them.
func within<Value>(_ line: String, _ body: (UnsafeRawBufferPointer) throws -> Value) rethrows
  -> Value
{
  try Array(line.utf8).withUnsafeBytes(body)
}
