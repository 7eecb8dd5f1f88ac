package import FoundationEssentials
import Synchronization

/// The sandbox's time: a base and an offset that a test moves.
///
/// Every lifetime, `iat`, `exp` and `Date` header comes from here.
package final class SandboxClock: Sendable {
  private let base: @Sendable () -> Date
  private let shift = Mutex(0.0)

  package init(base: @escaping @Sendable () -> Date = { Date() }) {
    self.base = base
  }

  package func now() -> Date {
    base().addingTimeInterval(offset)
  }

  /// Seconds this clock is ahead of its base; negative where it lags.
  package var offset: Double {
    get { shift.withLock { $0 } }
    set { shift.withLock { $0 = newValue } }
  }
}

/// Where codes, tokens and ids come from.
package struct TokenMint: Sendable {
  private let bytes: @Sendable (Int) -> [UInt8]

  package init(
    bytes: @escaping @Sendable (Int) -> [UInt8] = { count in
      var generator = SystemRandomNumberGenerator()
      return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
  ) {
    self.bytes = bytes
  }

  /// 256 random bits behind a prefix that tells people what it is.
  package func token(_ prefix: String) -> String {
    "\(prefix)_\(Base64.url(bytes(32)))"
  }

  /// Random bytes for a key.
  package func secret(_ count: Int) -> [UInt8] { bytes(count) }

  /// A code of so many digits, as an SMS has it.
  package func digits(_ count: Int) -> String {
    bytes(count).map { String($0 % 10) }.joined()
  }

  /// Eight consonants in two groups, as a person types them (RFC 8628 §6.1).
  package func userCode() -> String {
    let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
    let picked = bytes(8).map { letters[Int($0) % letters.count] }
    return String(picked[..<4]) + "-" + String(picked[4...])
  }
}
