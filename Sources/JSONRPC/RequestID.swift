/// The `id` of a JSON-RPC call: a string, a number or null. It is stored as the caller wrote it, so
/// that the reply echoes it exactly.
///
/// Two strings are equal if their characters are, however they are escaped. Two numbers are equal
/// if they are written in the same way: `1` and `1.0` differ, and large numbers such as
/// 9007199254740993 are not rounded.
package struct RequestID: Sendable, Hashable {
  /// The maximum number of bytes of an id, including the quotes of a string. A call with a longer
  /// id is refused before the id is copied.
  package static let maxBytes = 256

  /// The id as the caller wrote it: the bytes that the reply echoes.
  package let raw: [UInt8]
  /// The id with only those escapes that JSON requires, for the comparison of two ids.
  private let canonical: [UInt8]

  package static let null = RequestID(json: Array("null".utf8))

  package init(_ number: Int64) { self.init(json: Array(String(number).utf8)) }

  /// Copies the id from a line.
  ///
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
