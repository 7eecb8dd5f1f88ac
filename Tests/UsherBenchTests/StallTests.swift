import Glibc
import Testing
import UsherTestKit

@testable import usher_bench

@Suite("usher-bench stall", .mayBlock, .serialized, .timeLimit(.minutes(10)))
struct StallTests {
  @Test(
    "usher-bench stall generates lines of every kind within the limit, the same for the same seed")
  func lines() {
    var (lines, again) = (StallLines(seed: 1), StallLines(seed: 1))
    var places: Set<StallLines.Place> = []
    for number in 0..<300 {
      let shape = lines.next()
      let same = again.next()
      #expect(same == shape)
      places.insert(shape.place)
      let line = StallLines.line(shape)
      #expect(line.count <= 1_048_577)
      // memchr(3), because a loop over the bytes of all lines takes seconds in a debug build.
      let end = line.withUnsafeBytes { bytes in
        bytes.baseAddress.flatMap { start in
          memchr(start, CInt(UInt8(ascii: "\n")), bytes.count).map { UnsafeRawPointer($0) - start }
        }
      }
      #expect(end == line.count - 1, "the only line end is the last byte")
      lines.record(shape, UInt64(number))
      again.record(shape, UInt64(number))
    }
    #expect(places == Set(StallLines.Place.allCases))
    let slowest = lines.slowest.map { $0.nanoseconds }
    #expect(slowest == (288..<300).reversed().map { UInt64($0) })
  }

  /// Runs `usher-bench stall` and returns its output.
  ///
  /// The attack is repeated with a longer duration until the output is sufficient, because few
  /// lines get a reply in a short time on a busy machine.
  private func attack(
    _ options: [String], until isEnough: (String) -> Bool
  ) throws -> String {
    var output = ""
    for seconds in ["0.5", "5", "30"] where !isEnough(output) {
      let end = try run(
        BuiltProduct.path("usher-bench"),
        [
          "stall", "--usherd", BuiltProduct.path("usherd"), "--seconds", seconds,
          "--limit", "1000000", "--milliseconds", "1000000",
        ] + options, within: 120)
      #expect(end.status == 0, "\(end.output)\(end.errors)")
      output = end.output
    }
    return output
  }

  @Test(
    "usher-bench stall prints the times of another user's calls under attack and the slowest lines")
  func stall() throws {
    let output = try attack(["--calls", "50", "--connections", "2"]) { $0.contains("bytes of ") }
    #expect(output.contains("the attacker's lines answered: "))
    #expect(output.contains("bytes of "))
    #expect(output.contains("  system.status: p50"))
    #expect(!output.contains("MISSED"))
  }

  @Test("usher-bench stall sends the lines of a file, even if some of them are not calls")
  func given() throws {
    let place = try TemporaryDirectory()
    try place.write("{}\n[1,2]\n\"x\n", to: "lines")
    let answered = { (output: String) in
      output.firstMatch(of: /answered: ([0-9]+)\n/).flatMap { Int($0.1) }
    }
    let options = ["--calls", "10", "--connections", "1", "--lines", place.file("lines")]
    let output = try attack(options) { answered($0) ?? 0 > 3 }
    #expect(try #require(answered(output)) > 3)
    #expect(!output.contains("bytes of "))
  }

  @Test("usher-bench stall counts a line as answered once the reply to the following call arrives")
  func answered() {
    let other = #"{"jsonrpc":"2.0","id":1,"result":{}}"# + "\n"
    let last = #"{"jsonrpc":"2.0","id":"end","result":{}}"# + "\n"
    let bytes = Array((other + last).utf8)
    for cut in 0..<bytes.count {
      var connection = Staller.Connection(descriptor: -1, shape: nil, line: [])
      let isAnswered = [bytes[..<cut], bytes[cut...]].map { connection.isAnswered(by: $0) }
      #expect(isAnswered == [false, true], "cut after \(cut) bytes")
    }
    var random = StallLines(seed: 1)
    var connection = Staller.Connection(descriptor: -1, shape: random.next(), line: [])
    let parts = [bytes[..<5], bytes[5..<other.utf8.count]]
    #expect(parts.map { connection.isAnswered(by: $0) } == [false, true])
  }

  @Test("usher-bench stall exits with 1 if a limit is exceeded")
  func missed() throws {
    let end = try run(
      BuiltProduct.path("usher-bench"),
      [
        "stall", "--usherd", BuiltProduct.path("usherd"), "--seconds", "0.05", "--calls", "10",
        "--connections", "1", "--limit", "0",
      ])
    #expect(end.status == 1, "\(end.output)\(end.errors)")
    #expect(end.output.contains("MISSED"))
  }
}
