package import CryptoExtras
import Synchronization

/// The RSA keys of this process. All sandboxes share them; each sandbox numbers its keys from 1.
///
/// Generating a key takes a third of a second in a debug build; most sandboxes need at most one.
package enum RSAKeys {
  private static let made = Mutex<[Int: _RSA.Signing.PrivateKey]>([:])

  /// Returns the 2048-bit key with this number and generates it at its first use. Blocks meanwhile.
  package static func key(_ number: Int) throws -> _RSA.Signing.PrivateKey {
    try made.withLock { made in
      if let key = made[number] { return key }
      let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
      made[number] = key
      return key
    }
  }
}
