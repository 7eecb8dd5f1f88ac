import Crypto
import JSONRPC
import UsherConfig
import UsherCore

@testable import UsherFlows

extension FuzzTarget {
  /// An encrypted token is decrypted only if its header has the configured algorithm and neither
  /// `zip` nor `crit`, and a message about it can be shown.
  ///
  /// An input has two lines: the header, and the other four parts of the token in their encoded
  /// form. The key is ``decryptionKey``.
  static let encryptedToken = FuzzTarget("encrypted-token", words: ["UsherFlows/OIDC"]) { input in
    guard let key = decryptionKey else {
      throw PropertyViolation(description: "the key of the corpus is not a key")
    }
    let lines = input.lines + [[], []]
    let header = HTTPReply(status: 200, body: lines[0]).jsonObject ?? [:]
    let token = Secret(Base64URL.encode(lines[0]) + "." + lines[1].text)
    for algorithm in KeyManagementAlgorithm.allCases {
      let message: String?
      do throws(UnusableReply) {
        _ = try EncryptedToken(token, of: "ID token").decrypted(with: key, by: algorithm)
        message = nil
      } catch {
        message = error.message
      }
      try requireShowable(message, "the refusal of the token")
      guard message == nil else { continue }
      try require(
        header["alg"]?.stringValue == algorithm.rawValue && header["zip"] == nil
          && header["crit"] == nil, "a token is decrypted whose header must be refused")
    }
    // The whole input as a token, which need not be encoded.
    let protection = TokenProtection(reply: .userinfo, algorithms: [.rs256], encryption: .ecdhES)
    _ = try? protection.content(of: Secret(input.text)) { key }
  }
}

/// The key of the corpus: on P-256, with the private number 0x0707…07.
private let decryptionKey: DecryptionKey? = {
  let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: [UInt8](repeating: 7, count: 32))
  return key.flatMap { DecryptionKey(pem: Secret($0.pemRepresentation)) }
}()
