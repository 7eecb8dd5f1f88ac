/// A strict pull parser for a JSON text (RFC 8259). Envelopes, ``JSONValue`` and the client are all
/// built on it, so all of them refuse the same texts.
///
/// The parser reads the bytes once. Callers enter a container, ask for the next member or element,
/// and read its value. Every byte is read through ``current`` or ``byte(_:)``, which check the
/// bounds: beyond the end they return 0, which no grammar rule accepts.
struct Reader {
  let bytes: UnsafeRawBufferPointer
  private let count: Int
  private let nesting: Int
  private var depth = 0
  private(set) var at = 0

  init(_ bytes: UnsafeRawBufferPointer, nesting: Int) throws(JSONSyntaxError) {
    self.bytes = bytes
    self.nesting = min(max(nesting, 1), 512)
    count = bytes.count
    guard count <= Int(Int32.max) else { throw JSONSyntaxError(.tooLong, at: Int(Int32.max)) }
    skipSpace()
    if at == count { throw JSONSyntaxError(.blank, at: 0) }
    if byte(0) == 0xEF && byte(1) == 0xBB && byte(2) == 0xBF {
      throw JSONSyntaxError(.byteOrderMark, at: 0)
    }
  }

  /// Checks that only white space follows the value that was read.
  mutating func finish() throws(JSONSyntaxError) {
    skipSpace()
    if at < count { throw JSONSyntaxError(.trailingBytes, at: at) }
  }

  @inline(__always)
  private func byte(_ index: Int) -> UInt8 { index < count ? bytes[index] : 0 }

  @inline(__always)
  var current: UInt8 { byte(at) }

  @inline(__always)
  private mutating func skipSpace() {
    while true {
      switch current {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): at += 1
      default: return
      }
    }
  }

  /// Returns the error for the current byte; at the end of the text it is `unexpectedEnd`.
  private func refusal(_ problem: JSONSyntaxError.Problem) -> JSONSyntaxError {
    JSONSyntaxError(at < count ? problem : .unexpectedEnd, at: at)
  }
}

/// The kind and the range of a JSON value that was read.
struct Token: Sendable, Hashable {
  let kind: Kind
  /// The range of the value in the text, including the quotes of a string.
  let range: Range<Int>

  enum Kind: Sendable, Hashable {
    case string(Text)
    case number(isInteger: Bool)
    case object
    case array
    case bool(Bool)
    case null
  }
}

// MARK: - Values

extension Reader {
  /// Reads a value, including all nested values.
  mutating func value() throws(JSONSyntaxError) -> Token {
    let start = at
    let kind: Token.Kind
    switch current {
    case UInt8(ascii: "\""): kind = .string(try string())
    case UInt8(ascii: "{"): kind = try object()
    case UInt8(ascii: "["): kind = try array()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      kind = .number(isInteger: try number())
    case UInt8(ascii: "t"): kind = try literal("true", .bool(true))
    case UInt8(ascii: "f"): kind = try literal("false", .bool(false))
    case UInt8(ascii: "n"): kind = try literal("null", .null)
    default: throw refusal(.notAValue)
    }
    return Token(kind: kind, range: start..<at)
  }

  private mutating func object() throws(JSONSyntaxError) -> Token.Kind {
    try enterContainer()
    var names = MemberNames()
    while try nextMember(&names) != nil { _ = try value() }
    return .object
  }

  private mutating func array() throws(JSONSyntaxError) -> Token.Kind {
    try enterContainer()
    var isFirst = true
    while try nextElement(&isFirst) { _ = try value() }
    return .array
  }

  private mutating func literal(
    _ literal: StaticString, _ kind: Token.Kind
  ) throws(JSONSyntaxError) -> Token.Kind {
    for letter in UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount) {
      guard current == letter else { throw refusal(.notAValue) }
      at += 1
    }
    return kind
  }

  /// Reads a number; returns whether it is an integer, that is, without fraction and exponent.
  mutating func number() throws(JSONSyntaxError) -> Bool {
    if current == UInt8(ascii: "-") { at += 1 }
    if current == UInt8(ascii: "0") { at += 1 } else { try digits() }
    var isInteger = true
    if current == UInt8(ascii: ".") {
      isInteger = false
      at += 1
      try digits()
    }
    if current | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      at += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { at += 1 }
      try digits()
    }
    return isInteger
  }

  private mutating func digits() throws(JSONSyntaxError) {
    guard current &- 0x30 < 10 else { throw refusal(.malformedNumber) }
    repeat { at += 1 } while current &- 0x30 < 10
  }
}

// MARK: - Containers

extension Reader {
  /// Reads the opening bracket of an object or array.
  mutating func enterContainer() throws(JSONSyntaxError) {
    guard depth < nesting else { throw JSONSyntaxError(.tooDeep, at: at) }
    depth += 1
    at += 1
  }

  private mutating func leaveContainer() {
    depth -= 1
    at += 1
  }

  /// Advances to the value of the next member and returns its name; nil at the end of the object.
  mutating func nextMember(_ names: inout MemberNames) throws(JSONSyntaxError) -> Text? {
    guard try nextItem(isFirst: names.count == 0, closing: UInt8(ascii: "}")) else { return nil }
    let start = at
    guard current == UInt8(ascii: "\"") else { throw refusal(.notAName) }
    let name = try string()
    guard names.insert(name, in: bytes) else { throw JSONSyntaxError(.duplicateMember, at: start) }
    try colon()
    return name
  }

  /// Advances to the value of the next member and returns its name, for an object that was scanned
  /// before: the names are not checked again for duplicates.
  mutating func nextScannedMember(isFirst: Bool) throws(JSONSyntaxError) -> Text? {
    guard try nextItem(isFirst: isFirst, closing: UInt8(ascii: "}")) else { return nil }
    guard current == UInt8(ascii: "\"") else { throw refusal(.notAName) }
    let name = try string()
    try colon()
    return name
  }

  private mutating func colon() throws(JSONSyntaxError) {
    skipSpace()
    guard current == UInt8(ascii: ":") else { throw refusal(.noColon) }
    at += 1
    skipSpace()
  }

  /// Advances to the next element of an array; returns false at the end of the array.
  mutating func nextElement(_ isFirst: inout Bool) throws(JSONSyntaxError) -> Bool {
    defer { isFirst = false }
    return try nextItem(isFirst: isFirst, closing: UInt8(ascii: "]"))
  }

  @inline(__always)
  private mutating func nextItem(
    isFirst: Bool, closing: UInt8
  ) throws(JSONSyntaxError) -> Bool {
    skipSpace()
    if current == closing {
      leaveContainer()
      return false
    }
    if isFirst { return true }
    guard current == UInt8(ascii: ",") else { throw refusal(.noComma) }
    at += 1
    skipSpace()
    return true
  }
}

// MARK: - Strings

extension Reader {
  /// Reads a string, and checks its UTF-8, escapes and control characters.
  mutating func string() throws(JSONSyntaxError) -> Text {
    at += 1
    let start = at
    var isEscaped = false
    while true {
      at = bytes.firstOffset(from: at) { $0.bytesToCheck }
      switch current {
      case UInt8(ascii: "\""):
        at += 1
        return Text(start..<(at - 1), isEscaped: isEscaped)
      case UInt8(ascii: "\\"):
        isEscaped = true
        try escape()
      case 0x80...0xFF: try multibyteCharacter()
      default: throw refusal(.controlCharacter)
      }
    }
  }

  private mutating func escape() throws(JSONSyntaxError) {
    let start = at
    let letter = byte(at + 1)
    if UnsafeRawBufferPointer.simpleEscape(letter) != nil {
      at += 2
      return
    }
    guard letter == UInt8(ascii: "u"), let unit = bytes.fourHexDigits(at: at + 2) else {
      throw JSONSyntaxError(count - at < 2 ? .unexpectedEnd : .malformedEscape, at: start)
    }
    at += 6
    switch unit {
    case 0xD800...0xDBFF:
      guard current == UInt8(ascii: "\\"), byte(at + 1) == UInt8(ascii: "u"),
        let low = bytes.fourHexDigits(at: at + 2), 0xDC00...0xDFFF ~= low
      else { throw JSONSyntaxError(.loneSurrogate, at: start) }
      at += 6
    case 0xDC00...0xDFFF: throw JSONSyntaxError(.loneSurrogate, at: start)
    default: break
    }
  }

  /// Reads a character of two to four bytes. The bytes must be well-formed by table 3-7 of the
  /// Unicode Standard: no overlong form, no surrogate, nothing above U+10FFFF.
  private mutating func multibyteCharacter() throws(JSONSyntaxError) {
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch current {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: length = 4
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw JSONSyntaxError(.invalidUTF8, at: at)
    }
    var isWellFormed = second.contains(byte(at + 1))
    if length > 2 { isWellFormed = isWellFormed && 0x80...0xBF ~= byte(at + 2) }
    if length > 3 { isWellFormed = isWellFormed && 0x80...0xBF ~= byte(at + 3) }
    guard isWellFormed else { throw JSONSyntaxError(.invalidUTF8, at: at) }
    at += length
  }
}
