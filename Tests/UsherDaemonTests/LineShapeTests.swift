import JSONRPC
import Testing
import UsherTestKit

@testable import UsherDaemon

@Suite("Recognition of lines that differ only in their id")
struct LineShapeTests {
  private func line(_ id: String) -> [UInt8] {
    Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"token.get","params":{"id":1}}"#.utf8)
  }

  private func shape(_ id: String = "1") throws -> LineShape? {
    let line = line(id)
    guard case .call(let call) = Scanner().scan(line) else { throw TestError("not a call") }
    return try line.withUnsafeBytes { LineShape(of: $0, id: try #require(call.idRange)) }
  }

  /// Returns the id, or `nil` if the line must be parsed.
  private func id(of line: [UInt8], by shape: LineShape) -> String? {
    line.withUnsafeBytes { shape.id(in: $0).map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test(
    "a request line with a new integer or plain string id is recognised if the rest is known",
    arguments: ["0", "7", "10", "18446744073709551616", #""""#, #""a""#, #""6f9c-aa b/{}:,""#])
  func plain(_ other: String) throws {
    for first in ["1", #""one""#] {
      let shape = try #require(try shape(first))
      #expect(id(of: line(other), by: shape) == other)
    }
  }

  @Test(
    "a request line with any other id, such as a fraction or an escaped string, must be parsed",
    arguments: [
      "", "00", "01", "-1", "-0", "1.0", "1e2", "1 ", " 1", "null", "true", "[]", "{}", "1,2",
      #"1,"x":2"#, #""a"#, #"a""#, #"""#, #""a","x":"b""#, #""\n""#, #""a\u0041""#, "\"\u{7F}\"",
      "\"é\"", "\"\u{1}\"", "\"" + String(repeating: "x", count: LineShape.maxIDBytes) + "\"",
    ])
  func others(_ other: String) throws {
    let shape = try #require(try shape())
    #expect(id(of: line(other), by: shape) == nil)
  }

  @Test("a request line that differs outside of the id, or in its length, must be parsed")
  func elsewhere() throws {
    let shape = try #require(try shape())
    let whole = line("1")
    for at in whole.indices where at != 22 {
      var other = whole
      other[at] ^= 1
      #expect(id(of: other, by: shape) == nil)
      #expect(id(of: Array(whole[..<at]), by: shape) == nil)
    }
    #expect(id(of: whole + [0x20], by: shape) == nil)
    #expect(id(of: [0x20] + whole, by: shape) == nil)
    #expect(id(of: whole, by: shape) == "1")
  }

  @Test("a request line with an unusual id or of more than a kibibyte gets no LineShape")
  func noShape() throws {
    for id in ["null", "-1", "1.5", #""\\""#] { #expect(try shape(id) == nil) }
    let long = #"{"jsonrpc":"2.0","id":1,"method":"\#(String(repeating: "m", count: 1024))"}"#
    Array(long.utf8).withUnsafeBytes { #expect(LineShape(of: $0, id: 22..<23) == nil) }
  }

  @Test("a request line recognised by its shape has the id and params that the scanner finds")
  func agrees() throws {
    let shape = try #require(try shape())
    let scanner = Scanner()
    var random = SeededGenerator(seed: 10)
    let alphabet = Array(#"0123456789"\{}[]:,. -+eEna/ué"#.utf8) + [0x00, 0x1F, 0x7F, 0xC3, 0xFF]
    var known = 0
    for _ in 0..<200_000 {
      var middle = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
      }
      if Bool.random(using: &random) { middle = [0x22] + middle + [0x22] }
      let whole = line("1")
      let other = Array(whole[..<22]) + middle + Array(whole[23...])
      try other.withUnsafeBytes { other in
        guard let id = shape.id(in: other) else { return }
        known += 1
        guard case .call(let call) = scanner.scan(other) else {
          throw TestError("the line is not a call: \(middle)")
        }
        #expect(Array(id) == middle)
        #expect(call.idBytes(in: other).map { Array($0) } == middle)
        #expect(call.paramsBytes(in: other).map { Array($0) } == Array(#"{"id":1}"#.utf8))
        #expect(call.calls("token.get", in: other))
      }
    }
    #expect(known > 10_000)
  }
}
