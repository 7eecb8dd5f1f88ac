import Glibc
import UsherFlows

/// The cost of hashing a new passcode.
enum PasscodeCost {
  /// scrypt's parameter N (RFC 7914).
  ///
  /// In a debug build the usual cost is too high for tests, so the environment variable
  /// `USHER_PASSCODE_ROUNDS`, a power of two, replaces it. Release builds ignore the variable.
  static var rounds: Int {
    #if DEBUG
      if let text = getenv("USHER_PASSCODE_ROUNDS"), let rounds = Int(String(cString: text)),
        rounds > 1, rounds & (rounds - 1) == 0
      {
        return rounds
      }
    #endif
    return PasscodeHash.defaultRounds
  }
}
