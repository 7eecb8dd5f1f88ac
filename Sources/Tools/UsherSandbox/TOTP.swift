import Crypto
package import FoundationEssentials

/// Time-based one-time passwords as authenticator apps generate them (RFC 6238, HMAC-SHA-1).
package struct TOTP: Sendable, Hashable {
  let secret: [UInt8]
  /// Seconds for which one code is valid.
  let period: Int
  let digits: Int

  package init(secret: [UInt8], period: Int = 30, digits: Int = 6) {
    self.secret = secret
    self.period = period
    self.digits = digits
  }

  package func step(at now: Date) -> Int {
    Int((now.timeIntervalSince1970 / Double(period)).rounded(.down))
  }

  /// Seconds until the code changes.
  package func secondsLeft(at now: Date) -> Int {
    (step(at: now) + 1) * period - Int(now.timeIntervalSince1970.rounded(.down))
  }

  package func code(at now: Date) -> String { code(of: step(at: now)) }

  /// Returns the code of a time step, with leading zeros (RFC 4226 §5.3).
  package func code(of step: Int) -> String {
    let counter = withUnsafeBytes(of: UInt64(bitPattern: Int64(step)).bigEndian, Array.init)
    let hash = Array(
      HMAC<Insecure.SHA1>.authenticationCode(
        for: counter, using: SymmetricKey(data: secret)))
    let offset = Int((hash.last ?? 0) & 0x0F)
    let number = hash[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
    let modulus = (0..<digits).reduce(1) { product, _ in product * 10 }
    let text = String(number % modulus)
    return String(repeating: "0", count: digits - text.count) + text
  }

  /// Returns the time step of a code: the current step, the one before or the one after it (RFC
  /// 6238 §5.2). Nil if the code matches none of the three.
  package func step(of code: String, at now: Date) -> Int? {
    let current = step(at: now)
    return [current, current - 1, current + 1].first { self.code(of: $0) == code }
  }
}
