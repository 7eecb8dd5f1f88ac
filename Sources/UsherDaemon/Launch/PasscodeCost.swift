import Glibc
import UsherFlows

/// How dear a new passcode's hash is.
enum PasscodeCost {
  /// scrypt's N.
  ///
  /// In a build without optimisation it is dear beyond use: there `USHER_PASSCODE_ROUNDS`, a power of
  /// two, makes it cheap for tests. Release builds take no notice of it.
  static var rounds: Int {
    #if DEBUG
      if let text = getenv("USHER_PASSCODE_ROUNDS"), let rounds = Int(String(cString: text)),
        rounds > 1, rounds & (rounds - 1) == 0
      {
        return rounds
      }
    #endif
    return PasscodeHash.usualRounds
  }
}
