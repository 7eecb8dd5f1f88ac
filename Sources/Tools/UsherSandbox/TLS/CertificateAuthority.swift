import Crypto
import FoundationEssentials
import NIOSSL
import SwiftASN1
import X509

/// A certificate authority of a sandbox, which issues the certificates of its TLS listener and of
/// clients.
package struct CertificateAuthority: Sendable {
  private let key: Certificate.PrivateKey
  private let certificate: Certificate

  init() throws {
    key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let name = try DistinguishedName { CommonName("usher-sandbox") }
    certificate = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: Self.begin, notValidAfter: Self.end, issuer: name, subject: name,
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true))
      },
      issuerPrivateKey: key)
  }

  // The dates of the listener's certificates do not matter, because tests move clocks.
  private static let begin = Date(timeIntervalSince1970: 1_500_000_000)
  private static let end = Date(timeIntervalSince1970: 4_000_000_000)

  /// The certificate of the authority in PEM, for programs that are to trust it.
  func pem() throws -> String { try certificate.serializeAsPEM().pemString + "\n" }

  /// Returns the configuration of the TLS listener. A client need not present a certificate.
  func listenerConfiguration() throws -> TLSConfiguration {
    let key = P256.Signing.PrivateKey()
    let issued = try issue(
      publicKey: Certificate.PrivateKey(key).publicKey,
      subject: try DistinguishedName { CommonName("localhost") }, from: Self.begin, until: Self.end,
      extensions: try Certificate.Extensions {
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames([
          .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
          .ipAddress(ASN1OctetString(contentBytes: [UInt8](repeating: 0, count: 15) + [1])),
        ])
      })
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: [
        .certificate(try issued.forNIO()), .certificate(try certificate.forNIO()),
      ],
      privateKey: .privateKey(
        try NIOSSLPrivateKey(bytes: Array(key.pemRepresentation.utf8), format: .pem)))
    configuration.certificateVerification = .optionalVerification
    configuration.trustRoots = .certificates([try certificate.forNIO()])
    return configuration
  }

  /// Returns a new private key and a certificate for it, in PEM.
  ///
  /// - Parameter name: The common name of the subject.
  func issue(to name: String, from begin: Date, until end: Date) throws -> String {
    let key = P256.Signing.PrivateKey()
    let issued = try issue(
      publicKey: Certificate.PrivateKey(key).publicKey,
      subject: try DistinguishedName { CommonName(name) }, from: begin, until: end,
      extensions: try Certificate.Extensions { try ExtendedKeyUsage([.clientAuth]) })
    return key.pemRepresentation + "\n" + (try issued.serializeAsPEM().pemString) + "\n"
  }

  private func issue(
    publicKey: Certificate.PublicKey, subject: DistinguishedName, from begin: Date, until end: Date,
    extensions: Certificate.Extensions
  ) throws -> Certificate {
    try Certificate(
      version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: begin,
      notValidAfter: end, issuer: certificate.subject, subject: subject,
      signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions, issuerPrivateKey: key)
  }

  /// Whether this authority has issued a certificate.
  func hasIssued(_ other: PresentedCertificate) -> Bool {
    certificate.publicKey.isValidSignature(other.certificate.signature, for: other.certificate)
  }
}

/// The certificate that a client has presented in the TLS handshake, whose private key it has.
package struct PresentedCertificate: Sendable {
  fileprivate let certificate: Certificate
  /// The certificate in DER.
  let bytes: [UInt8]

  init(_ certificate: NIOSSLCertificate) throws {
    bytes = try certificate.toDERBytes()
    self.certificate = try Certificate(derEncoded: bytes)
  }

  /// The subject as RFC 4514 writes it.
  var subject: String { certificate.subject.description }
  var isSelfSigned: Bool {
    certificate.publicKey.isValidSignature(certificate.signature, for: certificate)
  }
  /// The hash by which tokens are bound to the certificate (`x5t#S256`, RFC 8705 §3.1).
  var thumbprint: String { Base64.url(SHA256.hash(data: bytes)) }

  func isValid(at now: Date) -> Bool {
    certificate.notValidBefore <= now && now < certificate.notValidAfter
  }
}

extension Certificate {
  fileprivate func forNIO() throws -> NIOSSLCertificate {
    try NIOSSLCertificate(bytes: serializeAsPEM().derBytes, format: .der)
  }
}
