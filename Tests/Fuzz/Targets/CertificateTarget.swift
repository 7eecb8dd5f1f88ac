import Crypto
import FoundationEssentials
import JSONRPC
import UsherConfig
import UsherCore

@testable import UsherFlows

extension FuzzTarget {
  /// A credential with a private key, with or without certificates, is refused with a sentence that
  /// has nothing of it, or its public part has no member of a private key, and a key that it has
  /// can sign.
  static let certificate = FuzzTarget("certificate", maxBytes: 8192, words: []) { input in
    let pem = Secret(input.text)
    let result = Result { () throws(InvalidValue) in
      try ClientCertificate(pem: pem, named: "work-certificate", of: ProviderName("work"))
    }
    switch result {
    case .success(let certificate): try checkAccepted(certificate)
    case .failure(let refusal):
      try requireShowable(refusal.message, without: lines(of: input), "the refusal")
    }
    if let key = ClientKey(pem: pem) {
      try requirePublic(key.publicJWK)
      let algorithm = key.algorithm(accepted: nil)
      try require(key.sign(Array("text".utf8), by: algorithm) != nil, "the key cannot sign")
    }
    if let key = DecryptionKey(pem: pem) {
      for algorithm in KeyManagementAlgorithm.allCases { _ = key.flaw(for: algorithm) }
    }
  }
}

private let now = Timestamp(seconds: 1_800_000_000)

private func checkAccepted(_ certificate: ClientCertificate) throws {
  try requirePublic(certificate.jwk)
  try require(certificate.chain.first?.isEmpty == false, "there is no certificate")
  try require(ClientKey(pem: certificate.key) != nil, "the key cannot be read again")
  _ = certificate.summary(at: now)
  _ = certificate.flaw(at: now)
}

private func requirePublic(_ jwk: JSONValue) throws(PropertyViolation) {
  let members = Set((jwk.objectValue ?? [:]).keys)
  try require(
    members.isDisjoint(with: ["d", "p", "q", "dp", "dq", "qi", "k"]),
    "the public key has the members \(members.sorted())")
}

/// The lines of an input that can be parts of a key.
private func lines(of input: [UInt8]) -> [String] {
  input.lines.map(\.text).filter { $0.utf8.count >= 32 }
}
