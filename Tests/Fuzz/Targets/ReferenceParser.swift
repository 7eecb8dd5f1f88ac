/// A strict, slow JSON parser that works differently from the scanner: on decoded characters, with
/// a set of names for each object. Tests compare the scanner's acceptance with it.
package struct ReferenceParser {
  package struct Refused: Error {
    package init() {}
  }

  private let characters: [UInt32]
  private let nesting: Int
  private var at = 0

  package static func accepts(_ bytes: [UInt8], nesting: Int = 32) -> Bool {
    guard let text = String(validating: bytes, as: UTF8.self) else { return false }
    var parser = ReferenceParser(
      characters: text.unicodeScalars.map(\.value), nesting: nesting)
    do {
      parser.space()
      try parser.value(depth: 0)
      parser.space()
      return parser.at == parser.characters.count
    } catch {
      return false
    }
  }

  private init(characters: [UInt32], nesting: Int) {
    self.characters = characters
    self.nesting = nesting
  }

  private var next: Character? {
    guard at < characters.count, let scalar = Unicode.Scalar(characters[at]) else { return nil }
    return Character(scalar)
  }

  private mutating func take(_ set: String) -> Bool {
    // Compares scalars, because CR LF is a single Character.
    guard at < characters.count, set.unicodeScalars.contains(where: { $0.value == characters[at] })
    else { return false }
    at += 1
    return true
  }

  private mutating func need(_ set: String) throws {
    guard take(set) else { throw Refused() }
  }

  private mutating func space() { while take(" \t\r\n") {} }

  private mutating func value(depth: Int) throws {
    if take("{") {
      guard depth < nesting else { throw Refused() }
      try members(depth: depth + 1)
    } else if take("[") {
      guard depth < nesting else { throw Refused() }
      try elements(depth: depth + 1)
    } else if take("\"") {
      _ = try string()
    } else if take("t") {
      for letter in ["r", "u", "e"] { try need(letter) }
    } else if take("f") {
      for letter in ["a", "l", "s", "e"] { try need(letter) }
    } else if take("n") {
      for letter in ["u", "l", "l"] { try need(letter) }
    } else {
      try number()
    }
  }

  private mutating func elements(depth: Int) throws {
    space()
    if take("]") { return }
    repeat {
      space()
      try value(depth: depth)
      space()
    } while take(",")
    try need("]")
  }

  private mutating func members(depth: Int) throws {
    space()
    if take("}") { return }
    var names: Set<[UInt32]> = []
    repeat {
      space()
      try need("\"")
      guard names.insert(try string()).inserted else { throw Refused() }
      space()
      try need(":")
      space()
      try value(depth: depth)
      space()
    } while take(",")
    try need("}")
  }

  private mutating func string() throws -> [UInt32] {
    var units: [UInt32] = []
    while !take("\"") {
      guard at < characters.count, characters[at] >= 0x20 else { throw Refused() }
      if take("\\") {
        units += try escape()
      } else {
        units.append(characters[at])
        at += 1
      }
    }
    return units
  }

  private mutating func escape() throws -> [UInt32] {
    let simple: [(String, UInt32)] = [
      ("\"", 0x22), ("\\", 0x5C), ("/", 0x2F), ("b", 8), ("f", 12), ("n", 10), ("r", 13), ("t", 9),
    ]
    for (letter, meaning) in simple where take(letter) { return [meaning] }
    try need("u")
    let first = try fourDigits()
    guard 0xD800...0xDFFF ~= first else { return [first] }
    try need("\\")
    try need("u")
    let second = try fourDigits()
    guard first < 0xDC00, 0xDC00...0xDFFF ~= second else { throw Refused() }
    return [0x10000 + (first - 0xD800) * 0x400 + (second - 0xDC00)]
  }

  private mutating func fourDigits() throws -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = next, digit.isASCII, let value = digit.hexDigitValue else {
        throw Refused()
      }
      unit = unit * 16 + UInt32(value)
      at += 1
    }
    return unit
  }

  private mutating func number() throws {
    _ = take("-")
    if !take("0") {
      try need("123456789")
      while take("0123456789") {}
    }
    if take(".") {
      try need("0123456789")
      while take("0123456789") {}
    }
    if take("eE") {
      _ = take("+-")
      try need("0123456789")
      while take("0123456789") {}
    }
  }
}
