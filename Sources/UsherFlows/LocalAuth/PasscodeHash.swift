import Crypto
import CryptoExtras
package import UsherCore

/// The scrypt hash of a passcode (RFC 7914).
///
/// The cost parameters are stored with the hash, so that a later version can raise them and still
/// verify old hashes. One computation takes 32 MiB and about a tenth of a second, so it must never
/// run on an event loop.
package struct PasscodeHash: Codable, Sendable, Equatable {
  /// The length of the salt in bytes.
  package static let saltLength = 16
  /// The scrypt cost parameter N of a new hash.
  package static let defaultRounds = 1 << 15
  private static let keyLength = 32

  private let rounds: Int
  private var blockSize = 8
  private var parallelism = 1
  private let salt: [UInt8]
  private let key: Sealed<Secret>

  /// Hashes a passcode.
  ///
  /// - Parameters:
  ///   - salt: ``saltLength`` fresh random bytes.
  ///   - rounds: The cost parameter N, a power of two. A lower value than the default is cheap to
  ///     brute-force and is for tests only.
  /// - Throws: `internalError` if there is not enough memory.
  package init(_ passcode: Secret, salt: [UInt8], rounds: Int = defaultRounds) throws(UsherError) {
    self.salt = salt
    self.rounds = rounds
    key = Sealed(try Self.derive(passcode, salt, rounds: rounds, blockSize: blockSize, parallelism))
  }

  /// Returns whether the passcode matches; compares in constant time.
  ///
  /// - Throws: `internalError` if there is not enough memory.
  package func accepts(_ passcode: Secret) throws(UsherError) -> Bool {
    let derived = try Self.derive(passcode, salt, rounds: rounds, blockSize: blockSize, parallelism)
    return derived == key.unsealed()
  }

  /// Returns the key that scrypt derives from the passcode, in hexadecimal.
  private static func derive(
    _ passcode: Secret, _ salt: [UInt8], rounds: Int, blockSize: Int, _ parallelism: Int
  ) throws(UsherError) -> Secret {
    do {
      let key = try KDF.Scrypt.deriveKey(
        from: Array(passcode.revealed().utf8), salt: salt, outputByteCount: keyLength,
        rounds: rounds, blockSize: blockSize, parallelism: parallelism)
      return Secret(key.withUnsafeBytes { $0.hexadecimal })
    } catch {
      throw UsherError(.internalError, "the passcode's hash cannot be computed", cause: error)
    }
  }
}
