/// Encodes a sequence of fields unambiguously: each text or byte array is preceded by its length.
/// Numbers are big-endian.
///
/// Used for the authenticated data of a row, and for its encrypted columns other than the payload.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ number: Int64) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func append(_ field: [UInt8]) {
    append(Int64(field.count))
    bytes.append(contentsOf: field)
  }

  mutating func append(_ text: String) { append(Array(text.utf8)) }

  mutating func append(_ text: String?) {
    append(text == nil ? 0 : 1 as Int64)
    if let text { append(text) }
  }
}

/// Decodes the fields that ``ByteWriter`` wrote. Each method returns nil if the bytes end early or
/// are malformed.
struct ByteReader {
  private var remaining: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { remaining = bytes[...] }

  var isAtEnd: Bool { remaining.isEmpty }

  mutating func number() -> Int64? {
    guard remaining.count >= 8 else { return nil }
    let number = remaining.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    remaining = remaining.dropFirst(8)
    return Int64(bitPattern: number)
  }

  mutating func field() -> [UInt8]? {
    guard let count = number(), count >= 0, count <= remaining.count else { return nil }
    defer { remaining = remaining.dropFirst(Int(count)) }
    return Array(remaining.prefix(Int(count)))
  }

  mutating func text() -> String? { field().flatMap { String(validating: $0, as: UTF8.self) } }

  /// Reads an optional text. Returns nil if the bytes are malformed.
  mutating func optionalText() -> String?? {
    switch number() {
    case 0: .some(nil)
    case 1: text().map { .some($0) }
    default: nil
    }
  }
}
