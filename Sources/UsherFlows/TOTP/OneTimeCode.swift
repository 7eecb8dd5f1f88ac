import Crypto
package import UsherConfig
package import UsherCore

/// Computes one-time codes: HOTP (RFC 4226) over time steps (RFC 6238) with T0 = 0.
package struct OneTimeCode: Sendable, Equatable {
  private let key: TOTPKey
  private let settings: TOTPSettings

  package init(_ key: TOTPKey, _ settings: TOTPSettings) {
    self.key = key
    self.settings = settings
  }

  /// The length of a time step in milliseconds.
  private var period: Int64 { Int64(settings.periodSeconds) * 1000 }

  /// Returns the number of the time step that contains a time (RFC 6238 §4.2); negative before
  /// 1970.
  package func step(at now: Timestamp) -> Int64 {
    let (whole, rest) = now.milliseconds.quotientAndRemainder(dividingBy: period)
    return rest < 0 ? whole - 1 : whole
  }

  /// Returns when a time step begins; the previous one ends then.
  package func start(of step: Int64) -> Timestamp { Timestamp(milliseconds: step * period) }

  /// Returns when the first time step at or after a time begins.
  package func firstStart(from moment: Timestamp) -> Timestamp {
    let begun = start(of: step(at: moment))
    return begun == moment ? begun : start(of: step(at: moment) + 1)
  }

  /// Returns the code of a time step, with leading zeros (RFC 4226 §5.3).
  package func code(of step: Int64) -> Secret {
    let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
    let hash = key.authenticate(counter, by: settings.algorithm)
    let offset = Int((hash.last ?? 0) & 0x0F)
    let number = hash[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
    let modulus = (0..<settings.digits).reduce(1) { product, _ in product * 10 }
    let text = String(number % modulus)
    return Secret(String(repeating: "0", count: settings.digits - text.count) + text)
  }
}

/// The shared secret from which one-time codes are computed. It prints as `<secret>`.
package struct TOTPKey: Sendable, Equatable {
  private let key: SymmetricKey

  package init(bytes: [UInt8]) { key = SymmetricKey(data: bytes) }

  /// Decodes the secret.
  ///
  /// - Parameter text: Base32 (RFC 4648 §6), in any case, with or without blanks and padding.
  /// - Returns: Nil if the text is not Base32 or has less than 80 bits. RFC 4226 §4 (R6) requires
  ///   128 bits, but many issuers use 80, and BSA documents no length.
  package init?(base32 text: Secret) {
    guard let bytes = Base32.decode(text.revealed()), bytes.count >= 10 else { return nil }
    self.init(bytes: bytes)
  }

  fileprivate func authenticate(_ counter: [UInt8], by algorithm: TOTPAlgorithm) -> [UInt8] {
    switch algorithm {
    case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: key))
    case .sha256: Array(HMAC<SHA256>.authenticationCode(for: counter, using: key))
    case .sha512: Array(HMAC<SHA512>.authenticationCode(for: counter, using: key))
    }
  }
}

extension TOTPKey: CustomStringConvertible, CustomReflectable {
  package var description: String { "<secret>" }
  package var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}
