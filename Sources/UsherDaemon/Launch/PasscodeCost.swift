import Glibc
import UsherFlows

/// Cost of a new passcode's hash.
enum PasscodeCost {
  /// scrypt's N.
  ///
  /// In a debug build the usual cost is too high for tests, so `USHER_PASSCODE_ROUNDS`, a power of
  /// two, replaces it. Release builds ignore the variable.
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
