import Crypto
import CryptoExtras
package import UsherCore

/// What is kept of a passcode: enough to know it again (RFC 7914, scrypt).
///
/// Its cost is stored with it, so that a later version can ask for more without losing what there
/// is. One computation takes 32 MiB and about a tenth of a second: never on an event loop.
package struct PasscodeHash: Codable, Sendable, Equatable {
  /// Bytes.
  package static let saltLength = 16
  /// scrypt's N of a new hash.
  package static let usualRounds = 1 << 15
  private static let keyLength = 32

  private let rounds: Int
  private var blockSize = 8
  private var parallelism = 1
  private let salt: [UInt8]
  private let key: Sealed<Secret>

  /// - Parameters:
  ///   - salt: ``saltLength`` fresh random bytes.
  ///   - rounds: A power of two; less than usual makes it cheap to guess, for tests.
  /// - Throws: `internalError` where there is no memory for it.
  package init(
    _ passcode: Secret, salt: [UInt8], rounds: Int = usualRounds
  ) throws(UsherError) {
    self.salt = salt
    self.rounds = rounds
    key = Sealed(
      try Self.derive(passcode, salt, rounds: rounds, blockSize: blockSize, parallelism))
  }

  /// Compares without telling by its duration how much is alike.
  ///
  /// - Throws: `internalError` where there is no memory for it.
  package func accepts(_ passcode: Secret) throws(UsherError) -> Bool {
    let derived = try Self.derive(
      passcode, salt, rounds: rounds, blockSize: blockSize, parallelism)
    return derived == key.unsealed()
  }

  /// In hexadecimal digits.
  private static func derive(
    _ passcode: Secret, _ salt: [UInt8], rounds: Int, blockSize: Int, _ parallelism: Int
  ) throws(UsherError) -> Secret {
    do {
      let key = try KDF.Scrypt.deriveKey(
        from: Array(passcode.revealed().utf8), salt: salt, outputByteCount: keyLength,
        rounds: rounds, blockSize: blockSize, parallelism: parallelism)
      return Secret(key.withUnsafeBytes { $0.map(hexadecimal).joined() })
    } catch {
      throw UsherError(.internalError, "the passcode's hash cannot be computed", cause: error)
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }
}
