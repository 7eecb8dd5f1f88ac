import Synchronization
import UsherCore

/// An entropy source that counts, so that every run is the same and no two draws are equal.
///
/// The first draw is the number 1, big-endian with the requested number of bytes, the second 2, and
/// so on. Draws of one byte repeat after 256.
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
