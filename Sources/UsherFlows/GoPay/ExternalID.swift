/// Creates the `X-EXTERNAL-ID` of a SNAP call: 32 decimal digits, unique for each call (provider
/// contract §3.4).
enum ExternalID {
  /// Returns an id from 128 random bits, which is more than 32 digits can hold.
  static func random(_ transition: inout TransitionContext) -> String {
    let number = transition.random(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
    let digits = String(number % 100_000_000_000_000_000_000_000_000_000_000)
    return String(repeating: "0", count: 32 - digits.utf8.count) + digits
  }
}
