package import FoundationEssentials
import Synchronization

/// The sandbox's clock: a time source plus an offset that tests can change.
///
/// All lifetimes, `iat` and `exp` claims and `Date` headers use this clock.
package final class SandboxClock: Sendable {
  private let base: @Sendable () -> Date
  private let shift = Mutex(0.0)

  package init(base: @escaping @Sendable () -> Date = { Date() }) {
    self.base = base
  }

  package func now() -> Date {
    base().addingTimeInterval(offset)
  }

  /// Seconds by which this clock is ahead of its time source; negative if it is behind.
  package var offset: Double {
    get { shift.withLock { $0 } }
    set { shift.withLock { $0 = newValue } }
  }
}

/// A generator of random codes, tokens and identifiers.
package struct TokenGenerator: Sendable {
  /// Codes that tests have chosen; all copies of a generator share them.
  private final class ChosenCodes: Sendable {
    let codes = Mutex<[String]>([])
  }

  private let bytes: @Sendable (Int) -> [UInt8]
  private let chosen = ChosenCodes()

  package init(
    bytes: @escaping @Sendable (Int) -> [UInt8] = { count in
      var generator = SystemRandomNumberGenerator()
      return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
  ) {
    self.bytes = bytes
  }

  /// Returns a token with 256 random bits, after a prefix that names the kind of token.
  package func token(_ prefix: String) -> String { token(startingWith: prefix + "_") }

  /// Returns a token with 256 random bits after exactly this text.
  func token(startingWith start: String) -> String { start + Base64.url(bytes(32)) }

  /// Returns random bytes for a key.
  package func secret(_ count: Int) -> [UInt8] { bytes(count) }

  /// Returns a numeric code of `count` digits, as sent in an SMS.
  package func digits(_ count: Int) -> String {
    let chosen = chosen.codes.withLock { codes in
      codes.firstIndex { $0.count == count }.map { codes.remove(at: $0) }
    }
    return chosen ?? bytes(count).map { String($0 % 10) }.joined()
  }

  /// Lets ``digits(_:)`` return these codes first, each for a code of its length.
  func choose(_ codes: [String]) {
    chosen.codes.withLock { $0 = codes }
  }

  /// Returns a user code: eight consonants in two groups, easy to type (RFC 8628 §6.1).
  package func userCode() -> String {
    let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
    let picked = bytes(8).map { letters[Int($0) % letters.count] }
    return String(picked[..<4]) + "-" + String(picked[4...])
  }
}
