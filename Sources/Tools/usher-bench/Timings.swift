/// The durations of calls, in nanoseconds.
struct Timings {
  private let sorted: [UInt64]

  /// All durations, shortest first.
  var all: [UInt64] { sorted }

  init(_ times: [UInt64]) { sorted = times.sorted() }

  var count: Int { sorted.count }
  var max: UInt64 { sorted.last ?? 0 }

  /// - Parameter share: 0.99 for the time within which 99 of 100 calls got their reply.
  func percentile(_ share: Double) -> UInt64 {
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
  }
}

extension [Double] {
  var median: Double { isEmpty ? 0 : sorted()[count / 2] }
}

extension UInt64 {
  /// The duration in microseconds, with one decimal place.
  var microseconds: String { (Double(self) / 1000).short }
}

extension Double {
  /// The number with one decimal place, right-aligned in nine columns.
  var short: String {
    let text = fixed(1)
    return String(repeating: " ", count: Swift.max(0, 9 - text.count)) + text
  }
}
