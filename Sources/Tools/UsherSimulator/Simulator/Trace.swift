/// The record of a run: a hash of everything that happened, and the lines themselves if they are
/// asked for.
///
/// Two runs of a seed have the same hash. A line must not depend on random numbers of libraries,
/// such as signatures, nor on addresses.
final class Trace: @unchecked Sendable {
  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var steps = 0
  private let print: ((String) -> Void)?
  private let time: () -> UInt64

  /// - Parameters:
  ///   - time: Returns the nanoseconds since the start of the simulation.
  ///   - print: Prints a line; nil if the lines are not asked for.
  init(time: @escaping () -> UInt64, print: ((String) -> Void)?) {
    self.time = time
    self.print = print
  }

  /// Records that something happened.
  func note(_ line: @autoclosure () -> String) {
    let line = line()
    add(line.utf8)
    print?("\(Self.seconds(time())) \(line)")
  }

  /// Records which of the waiting steps was taken, and when.
  func step(_ index: Int, of count: Int, at time: UInt64) {
    steps += 1
    add([UInt8(truncatingIfNeeded: index), UInt8(truncatingIfNeeded: count)])
    withUnsafeBytes(of: time.littleEndian) { add($0) }
  }

  private func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }

  static func seconds(_ nanoseconds: UInt64) -> String {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let millis = String(rest / 1_000_000)
    return "\(seconds).\(String(repeating: "0", count: 3 - millis.count))\(millis)"
  }
}
