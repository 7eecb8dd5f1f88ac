import Testing

@testable import usher_bench

@Suite("Results of usher-bench compare")
struct ComparisonTests {
  @Test("usher-bench reports the median, minimum and maximum of a ratio over all rounds")
  func rounds() throws {
    let ratio = try #require(
      Example.comparison.ratios.first {
        $0.load == .many && $0.to == .redis && $0.measure == .requestsPerSecond
      })
    #expect(ratio.median == 0.9)
    #expect(ratio.least == 0.8)
    #expect(ratio.most == 1.2)
    #expect(ratio.goal == 1)
    #expect(!ratio.isReached)
  }

  @Test("for usher-bench a larger value is better only for requests per second")
  func better() throws {
    let ratios = Example.comparison.ratios.filter { $0.goal != nil }
    #expect(
      ratios.map { "\($0.load.rawValue) \($0.measure.rawValue) \($0.to.rawValue)" } == [
        "50x1 requestsPerSecond redis", "1x1 p50Microseconds echo",
        "50x1+500idle+half p99Microseconds usherd",
      ])
    #expect(ratios.map(\.isReached) == [false, true, true])
    #expect(ratios[2].toLoad == .many)
    #expect(ratios[2].median == 1.5)
  }

  @Test("usher-bench lists each ratio once")
  func once() {
    let ratios = Example.comparison.ratios.map {
      "\($0.load) \($0.to) \(String(describing: $0.toLoad)) \($0.measure)"
    }
    #expect(Set(ratios).count == ratios.count)
    #expect(ratios.count == 9)
  }

  @Test("usher-bench has no ratio for a server that was measured without usherd")
  func alone() {
    let alone = Comparison(
      machine: Example.machine, rounds: 1, seconds: 1,
      results: [Example.result(.echo, .many, [1], 1)])
    #expect(alone.ratios.isEmpty)
  }

  @Test("a comparison of usher-bench is written as JSON and read back equal")
  func json() throws {
    let bytes = try Example.comparison.json()
    #expect(try Comparison(json: bytes) == Example.comparison)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains(#""server" : "usherd""#))
    #expect(text.contains(#""load" : "50x1+500idle+half""#))
  }

  @Test(
    "usher-bench refuses JSON that is not a comparison with the reason",
    arguments: [
      (#""rounds""#, #""round""#, "this is not what `usher-bench compare --json` writes"),
      (#""version" : 1"#, #""version" : 2"#, "version 2 of a comparison is not supported"),
      (#""rounds" : 3"#, #""rounds" : 4"#, "this comparison lacks results of some rounds"),
    ])
  func refused(_ mark: String, _ other: String, _ sentence: String) throws {
    let text = String(decoding: try Example.comparison.json(), as: UTF8.self)
    let broken = text.replacing(mark, with: other)
    #expect(broken != text)
    let failure = #expect(throws: BenchError.self) { try Comparison(json: Array(broken.utf8)) }
    #expect(failure?.description == sentence)
  }

  @Test("usher-bench refuses a comparison without results or of another version")
  func empty() throws {
    let empty = Comparison(machine: Example.machine, rounds: 1, seconds: 1, results: [])
    let none = #expect(throws: BenchError.self) { try Comparison(json: try empty.json()) }
    #expect(none?.description == "this comparison has no results")
    let later = #expect(throws: BenchError.self) {
      try Comparison(json: Array(#"{"version": 7, "all": "else"}"#.utf8))
    }
    #expect(later?.description == "version 7 of a comparison is not supported")
  }

  @Test("the table of usher-bench starts with the goals and marks the missed ones")
  func table() throws {
    let lines = ComparisonTable(comparison: Example.comparison).lines
    #expect(lines[1].contains("requests/s / redis"))
    #expect(lines[1].contains("0.90  (0.80 to 1.20)  at least 1.00  MISSED"))
    #expect(lines[2].contains("p50 / echo"))
    #expect(lines[2].hasSuffix("at most 1.25   reached"))
    #expect(lines[3].contains("p99 / itself under 50x1"))
    #expect(lines.contains { $0.contains("usherd") && $0.contains("busy 50 %") })
    #expect(lines.allSatisfy { $0.count <= 100 })
  }

  @Test("the SVG of usher-bench has a bar for each server and load, and escapes the machine's name")
  func picture() throws {
    let svg = ComparisonPicture(comparison: Example.comparison).svg
    #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\""))
    #expect(svg.hasSuffix("</svg>"))
    #expect(svg.matches(of: #/<rect class="own"/#).count == 3)
    #expect(svg.matches(of: #/<rect class="other"/#).count == 2)
    #expect(svg.contains("A&amp;B &lt;3&gt;"))
    #expect(!svg.contains("A&B"))
    #expect(svg.contains(">100,000</text>"))
    #expect(svg.contains(">0.90 ×</text>"))
    #expect(!svg.contains("nan"))
  }

  @Test("usher-bench prints a number with the requested number of decimal places")
  func fixed() {
    #expect(0.0.fixed(2) == "0.00")
    #expect(9.999.fixed(2) == "10.00")
    #expect((-0.05).fixed(1) == "-0.1")
    #expect(12_345.678.fixed(0) == "12346")
    #expect(1.05.fixed(2) == "1.05")
    #expect(Double.nan.fixed(1) == "-")
    #expect(Double.infinity.fixed(1) == "-")
  }
}

/// A comparison of three rounds with simple numbers.
private enum Example {
  static let machine = Comparison.Machine(cpus: 2, kernel: "6.1", cpu: "A&B <3>")

  static func result(
    _ server: ServerName, _ load: LoadShape, _ rates: [Double], _ p99: Double
  ) -> Comparison.Result {
    Comparison.Result(
      server: server, load: load, requestsPerSecond: rates,
      cpuMicroseconds: rates.map { 1_000_000 / $0 }, p50Microseconds: rates.map { _ in p99 / 2 },
      p99Microseconds: rates.map { _ in p99 }, rssKiB: 1000, clientBusy: 0.5)
  }

  static let comparison = Comparison(
    machine: machine, rounds: 3, seconds: 2,
    results: [
      result(.usherd, .one, [50_000, 50_000, 50_000], 24),
      result(.echo, .one, [60_000, 60_000, 60_000], 20),
      result(.usherd, .many, [90_000, 80_000, 120_000], 400),
      result(.redis, .many, [100_000, 100_000, 100_000], 300),
      result(.usherd, .crowded, [80_000, 80_000, 80_000], 600),
    ])
}
