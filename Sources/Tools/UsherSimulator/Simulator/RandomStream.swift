/// A stream of random numbers that a seed and a purpose determine (SplitMix64).
///
/// Each purpose has a stream of its own, so that one more number for one purpose does not change
/// the numbers of the others.
struct RandomStream: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64, for purpose: String) {
    state = purpose.utf8.reduce(seed &+ 0x9E37_79B9_7F4A_7C15) { state, byte in
      Self.mix(state ^ UInt64(byte))
    }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns true in `percent` of 100 cases.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

  /// Returns a duration. Short ones are as frequent as long ones: each order of magnitude between
  /// the bounds has the same share.
  mutating func duration(_ range: ClosedRange<Duration>) -> Duration {
    let (low, high) = (max(1, range.lowerBound.microseconds), range.upperBound.microseconds)
    var (bound, bounds) = (low, [Int64]())
    while bound < high {
      bounds.append(bound)
      bound *= 10
    }
    guard let lower = bounds.randomElement(using: &self) else { return range.lowerBound }
    return .microseconds(Int64.random(in: lower...min(lower * 10, high), using: &self))
  }

  mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: choices.indices, using: &self)]
  }

  /// Picks a choice with a probability proportional to its weight.
  mutating func pick<Element>(weighted choices: [(weight: Int, choice: Element)]) -> Element {
    var number = Int.random(in: 0..<choices.reduce(0) { $0 + $1.weight }, using: &self)
    for (weight, choice) in choices {
      number -= weight
      if number < 0 { return choice }
    }
    return choices[choices.count - 1].choice
  }
}

extension Duration {
  var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }

  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
