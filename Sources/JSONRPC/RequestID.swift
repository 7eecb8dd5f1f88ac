/// A call's `id`: a string, a number or null, kept as it was written so that it is echoed exactly.
///
/// Two ids are equal if they are the same JSON value: strings by their characters however escaped,
/// numbers by their spelling (`1` and `1.0` are two ids, and 9007199254740993 is itself).
package struct RequestID: Sendable, Hashable {
  /// Bytes of the longest id, a string's quotes included: a call with a longer one is refused before the
  /// id is copied.
  package static let longest = 256

  /// As it was written: the bytes to echo.
  package let raw: [UInt8]
  /// The same with escapes resolved as far as JSON allows.
  private let canonical: [UInt8]

  package static let null = RequestID(json: Array("null".utf8))

  package init(_ number: Int64) { self.init(json: Array(String(number).utf8)) }

  package init(_ text: String) {
    var json: [UInt8] = []
    json.appendJSONString(text)
    self.init(json: json)
  }

  /// The id that a decoded value means, as in `rpc.cancel`; nil for what cannot be an id.
  ///
  /// An integer beyond Int64 is no longer exact here and equals no such id read from a line.
  package init?(_ value: JSONValue) {
    switch value {
    case .string, .integer, .number, .null: self.init(json: value.encoded())
    case .bool, .object, .array: return nil
    }
  }

  /// - Parameter token: A string, number or null that the reader has accepted.
  init(_ token: Token, in bytes: UnsafeRawBufferPointer) {
    raw = Array(bytes.part(token.range))
    if case .string(let text) = token.kind, text.isEscaped {
      var json: [UInt8] = []
      json.appendJSONString(bytes.string(text))
      canonical = json
    } else {
      canonical = raw
    }
  }

  private init(json: [UInt8]) {
    raw = json
    canonical = json
  }

  package static func == (left: RequestID, right: RequestID) -> Bool {
    left.canonical == right.canonical
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension RequestID: CustomStringConvertible {
  package var description: String { String(decoding: raw, as: UTF8.self) }
}
