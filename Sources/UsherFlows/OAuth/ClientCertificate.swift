import Crypto
import FoundationEssentials
package import JSONRPC
import SwiftASN1
package import UsherCore
import X509

/// The certificate by which the daemon authenticates itself as a client of a provider in the TLS
/// handshake (RFC 8705), with its private key.
///
/// The credential that holds both is a PEM text with the key, the certificate and, after it, the
/// certificates of the authorities that issued it.
package struct ClientCertificate: Sendable, Equatable {
  /// The provider whose client the certificate identifies. No connection of another provider may
  /// use it.
  package let provider: ProviderName
  /// The name of the credential.
  package let credential: String
  /// The private key in PEM.
  package let key: Secret
  /// The certificates in DER, the client's own one first.
  package let chain: [[UInt8]]
  /// The subject of the certificate, as RFC 4514 writes it.
  package let subject: String
  /// When the certificate ends.
  package let endsAt: Timestamp
  private let publicJWK: JSONValue

  /// How long before its end `provider.check` warns of it.
  private static let warning = Duration.seconds(14 * 86_400)

  /// Reads the credential.
  ///
  /// - Throws: Why the credential cannot be used: the end of a sentence that begins with its name.
  package init(
    pem: Secret, named credential: String, of provider: ProviderName
  ) throws(InvalidValue) {
    self.provider = provider
    self.credential = credential
    do {
      let blocks = try PEMDocument.parseMultiple(pemString: pem.revealed())
      let keys = blocks.filter { $0.discriminator.hasSuffix("PRIVATE KEY") }
      let certificates = blocks.filter { $0.discriminator == Certificate.defaultPEMDiscriminator }
      guard keys.count == 1, let key = keys.first, let first = certificates.first else {
        throw InvalidValue(Self.flaw)
      }
      let text = Secret(key.pemString)
      guard let clientKey = ClientKey(pem: text) else { throw InvalidValue(ClientKey.flaw) }
      let certificate = try Certificate(pemDocument: first)
      for other in certificates.dropFirst() { _ = try Certificate(pemDocument: other) }
      guard try Certificate.PrivateKey(pemDocument: key).publicKey == certificate.publicKey else {
        throw InvalidValue("has a first certificate that is not the private key's")
      }
      self.key = text
      chain = certificates.map(\.derBytes)
      subject = certificate.subject.description
      endsAt = Timestamp(seconds: certificate.notValidAfter.timeIntervalSince1970)
      publicJWK = clientKey.publicJWK
    } catch let error as InvalidValue {
      throw error
    } catch {
      throw InvalidValue(Self.flaw)
    }
  }

  private static let flaw = "is not a PEM text with a private key and its certificate"

  /// The public key as a JWK with the certificates (`x5c`, RFC 7517 §4.7), by which a provider
  /// knows a self-signed certificate (RFC 8705 §2.2).
  package var jwk: JSONValue {
    var members = publicJWK.objectValue ?? [:]
    members["x5c"] = .array(chain.map { .string(Data($0).base64EncodedString()) })
    members["x5t#S256"] = .string(Base64URL.encode(SHA256.hash(data: chain[0])))
    return .object(members)
  }

  /// Returns whom the certificate names and when it ends, as a sentence that begins with the
  /// credential; near the end also what to do.
  package func summary(at now: Timestamp) -> String {
    let text = "it is set; its certificate for \(subject) ends at \(endsAt)"
    guard endsAt - now < Self.warning else { return text }
    return text + ", soon: set a new one before, and register it with the provider if it is "
      + "self-signed"
  }

  /// Returns why the certificate cannot be used at a time, as a sentence that says what to do; nil
  /// if it can.
  package func flaw(at now: Timestamp) -> String? {
    guard now >= endsAt else { return nil }
    return
      "the certificate in credential \(credential) of provider \(provider) ended at \(endsAt); set "
      + "a new one: usherctl credential set \(credential)"
  }
}

extension ClientCertificate {
  /// How long a certificate lasts that the daemon makes. The provider compares it with the one that
  /// is registered, so a short life would only cause more registrations.
  static let lifetime = Duration.seconds(10 * 365 * 86_400)

  /// Returns a new key and a certificate that it signs itself, in PEM.
  ///
  /// - Parameters:
  ///   - clientID: The name in the certificate.
  ///   - random: Returns as many random bytes as it is asked for.
  package static func selfSigned(
    for clientID: String, at now: Timestamp, _ random: (Int) -> [UInt8]
  ) throws(UsherError) -> Secret {
    let key = ClientKey.make(random)
    do {
      let signer = try Certificate.PrivateKey(pemEncoded: key.revealed())
      // RFC 5280, appendix A: a common name has at most 64 characters.
      let name = try DistinguishedName { CommonName(String(clientID.prefix(64))) }
      let certificate = try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(bytes: [1] + random(15)),
        publicKey: signer.publicKey,
        // A provider whose clock is behind would refuse a certificate from the future.
        notValidBefore: Date(timeIntervalSince1970: (now - .seconds(86_400)).seconds),
        notValidAfter: Date(timeIntervalSince1970: (now + lifetime).seconds),
        issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
        extensions: try Certificate.Extensions {
          Critical(BasicConstraints.notCertificateAuthority)
          Critical(KeyUsage(digitalSignature: true))
          try ExtendedKeyUsage([.clientAuth])
        },
        issuerPrivateKey: signer)
      return Secret(try key.revealed() + "\n" + certificate.serializeAsPEM().pemString + "\n")
    } catch {
      throw UsherError(.internalError, "the certificate cannot be made", cause: error)
    }
  }
}
