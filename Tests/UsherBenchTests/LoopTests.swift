import CBench
import Testing

@Suite("usher-bench's histogram of times")
struct HistogramTests {
  private let histogram = bench_histogram_new()

  private func record(_ times: some Sequence<UInt64>) {
    for time in times { bench_histogram_record(histogram, time) }
  }

  @Test("a percentile of usher-bench's histogram is accurate to 1/256 of its value")
  func percentiles() throws {
    defer { bench_histogram_free(histogram) }
    // From 1 to 100,003, in no particular order.
    let times = (0..<20_000).map { UInt64($0) * 7919 % 100_003 + 1 }
    record(times)
    let sorted = times.sorted()
    for share in [0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1] {
      let exact = sorted[max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1)]
      let told = bench_histogram_at(histogram, share)
      #expect(told >= exact)
      #expect(Double(told) <= Double(exact) * (1 + 1.0 / 256), "at \(share)")
    }
    #expect(bench_histogram_total(histogram) == 20_000)
  }

  @Test("a percentile of usher-bench's histogram below 512 ns is exact")
  func exact() {
    defer { bench_histogram_free(histogram) }
    record(UInt64(0)..<512)
    #expect(bench_histogram_at(histogram, 0.5) == 255)
    #expect(bench_histogram_at(histogram, 1) == 511)
  }

  @Test("no percentile of a histogram exceeds the longest time, and an empty histogram has only 0")
  func edges() {
    defer { bench_histogram_free(histogram) }
    #expect(bench_histogram_at(histogram, 0.99) == 0)
    record([1_000_001 as UInt64])
    #expect(bench_histogram_at(histogram, 0.5) == 1_000_001)
    record([UInt64.max])
    #expect(bench_histogram_at(histogram, 0.5) < 1_010_000)
    #expect(bench_histogram_at(histogram, 1) >= 1 << 40)
  }
}

@Suite("usher-bench's detection of a reply's end")
struct ReplyTests {
  private func size(_ framing: bench_framing, _ text: String) -> Int {
    size(framing, Array(text.utf8))
  }

  private func size(_ framing: bench_framing, _ bytes: [UInt8]) -> Int {
    bench_reply_size(framing, bytes, bytes.count)
  }

  private let bad = Int(bitPattern: UInt.max)

  @Test("usher-bench ends a line reply at its newline")
  func line() {
    #expect(size(BENCH_LINE, "{}\n{}\n") == 3)
    #expect(size(BENCH_LINE, "{}") == 0)
    #expect(size(BENCH_LINE, "") == 0)
  }

  @Test("usher-bench ends a bulk string reply after the length that the reply states")
  func bulk() {
    let reply = "$4\r\nab\r\n\r\n$1\r\nx\r\n"
    #expect(size(BENCH_BULK, reply) == 10)
    for count in 0..<10 { #expect(size(BENCH_BULK, Array(reply.utf8.prefix(count))) == 0) }
    #expect(size(BENCH_BULK, "$-1\r\n") == bad)
    #expect(size(BENCH_BULK, "-ERR no such key\r\n") == bad)
    #expect(size(BENCH_BULK, "$99999999999\r\n") == bad)
  }

  @Test("usher-bench ends a reply with a big-endian length prefix after that many bytes")
  func length32() {
    let reply: [UInt8] = [0, 0, 1, 2] + [UInt8](repeating: 7, count: 258) + [0]
    #expect(size(BENCH_LENGTH32, reply) == 262)
    for count in [0, 3, 4, 261] { #expect(size(BENCH_LENGTH32, Array(reply.prefix(count))) == 0) }
    #expect(size(BENCH_LENGTH32, [255, 255, 255, 255]) == bad)
  }

  @Test("usher-bench finds no end within the bytes of a reply that ends with its connection")
  func close() {
    #expect(size(BENCH_CLOSE, "{}\n") == 0)
  }
}
