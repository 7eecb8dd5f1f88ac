package import CryptoExtras
import Synchronization

/// The RSA keys of this process, which all its sandboxes share: each sandbox counts its own from 1.
///
/// Making a key takes a third of a second in a debug build, and most sandboxes need none or one.
package enum RSAKeys {
  private static let made = Mutex<[Int: _RSA.Signing.PrivateKey]>([:])

  /// The key of 2048 bits with this number, made when it is first asked for. Blocks while one is made.
  package static func key(_ number: Int) throws -> _RSA.Signing.PrivateKey {
    try made.withLock { made in
      if let key = made[number] { return key }
      let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
      made[number] = key
      return key
    }
  }
}
