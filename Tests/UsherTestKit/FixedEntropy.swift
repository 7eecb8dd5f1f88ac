import Synchronization
import UsherCore

/// Counts where chance would decide, so that every run is alike and no two draws of one source are.
///
/// The first draw is the number 1, big-endian in as many bytes as were asked for, the second 2, and
/// so on. A draw of one byte repeats after 256.
package final class FixedEntropy: Entropy {
  private let draws = Mutex<UInt64>(0)

  package init() {}

  package func bytes(_ count: Int) -> [UInt8] {
    let draw = draws.withLock { draws in
      draws += 1
      return draws
    }
    let number = withUnsafeBytes(of: draw.bigEndian, Array.init)
    return Array(repeating: 0, count: max(count - number.count, 0)) + number.suffix(count)
  }
}
