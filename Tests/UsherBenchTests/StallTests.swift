import Testing
import UsherTestKit

@testable import usher_bench

@Suite("usher-bench stall", .mayBlock, .serialized, .timeLimit(.minutes(3)))
struct StallTests {
  @Test("its lines are of every kind, none is too long, and the same seed gives the same")
  func lines() {
    var (lines, again) = (StallLines(seed: 1), StallLines(seed: 1))
    var places: Set<StallLines.Place> = []
    for number in 0..<300 {
      let shape = lines.next()
      let same = again.next()
      #expect(same == shape)
      places.insert(shape.place)
      let line = StallLines.line(shape)
      #expect(line.count <= 1_048_577 && line.last == UInt8(ascii: "\n"))
      #expect(line.count { $0 == UInt8(ascii: "\n") } == 1)
      lines.record(shape, UInt64(number))
      again.record(shape, UInt64(number))
    }
    #expect(places == Set(StallLines.Place.allCases))
    let slowest = lines.slowest.map { $0.nanoseconds }
    #expect(slowest == (288..<300).reversed().map { UInt64($0) })
  }

  @Test("it measures another user's calls under attack, and tells the slowest lines")
  func stall() throws {
    let end = try run(
      BuiltProduct.path("usher-bench"),
      [
        "stall", "--usherd", BuiltProduct.path("usherd"), "--seconds", "3", "--calls", "50",
        "--connections", "2", "--limit", "1000000", "--milliseconds", "1000000",
      ])
    #expect(end.status == 0, "\(end.output)\(end.errors)")
    #expect(end.output.contains("the attacker's lines answered: "))
    #expect(end.output.contains("bytes of "))
    #expect(end.output.contains("  system.status: p50"))
    #expect(!end.output.contains("MISSED"))
  }

  @Test("it sends the lines of a file, and lines that are no calls do not hold it up")
  func given() throws {
    let place = try Workplace()
    try place.write("{}\n[1,2]\n\"x\n", to: "lines")
    let end = try run(
      BuiltProduct.path("usher-bench"),
      [
        "stall", "--usherd", BuiltProduct.path("usherd"), "--seconds", "1", "--calls", "10",
        "--connections", "1", "--limit", "1000000", "--milliseconds", "1000000",
        "--lines", place.file("lines"),
      ])
    #expect(end.status == 0, "\(end.output)\(end.errors)")
    let answered = end.output.firstMatch(of: /answered: ([0-9]+)\n/).flatMap { Int($0.1) }
    #expect(try #require(answered) > 3)
    #expect(!end.output.contains("bytes of "))
  }

  @Test("it ends with 1 where a limit is passed")
  func missed() throws {
    let end = try run(
      BuiltProduct.path("usher-bench"),
      [
        "stall", "--usherd", BuiltProduct.path("usherd"), "--seconds", "0.2", "--calls", "10",
        "--connections", "1", "--limit", "0",
      ])
    #expect(end.status == 1, "\(end.output)\(end.errors)")
    #expect(end.output.contains("MISSED"))
  }
}
