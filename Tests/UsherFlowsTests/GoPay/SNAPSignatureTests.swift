import Testing
import UsherCore
import UsherTestKit

@testable import UsherFlows

/// OpenSSL's signature of `acme-sdk|2027-01-15T15:00:00+07:00` with ``PartnerKeys/good``:
/// signatures of PKCS #1 v1.5 are deterministic.
enum OpenSSL {
  static let signature =
    "UCK+pZt2lpi+fq/egiI7ELLEs9lScmK6vq1cWAh46qWb3KK5GzW7H77or/tLKsNn8ezbE4zZhGY52JOSj7Uk"
    + "/1PlsVF9AFtJrlEWwJsJ+zxwkpMULrcLjafePyEvWrZyNulrzsXFN4XS68Fv+Fmh2Q9XelMGTK7nWPzynpQ1"
    + "WbJ0QOSIQHglERG4IU3PcAdCb0xTfhpQREPTh6wOnEc6KgxCJOoTPkGAzApmy1vC85FOC25gD1zRS6CTjcdg"
    + "iNOjo6OzOxZZ7x+K1ajHFK2TFoV/CSAZx9Gtc0/Wb7OsXy/3tXGZRJCRog8UG0Iwmcs3WQLF02ZQZ9ZZi3Mo"
    + "DgnfcA=="

  /// The same key in the PKCS #1 format.
  static let traditional = Secret(
    """
    -----BEGIN RSA PRIVATE KEY-----
    MIIEowIBAAKCAQEAiyjjUs5BUsmVgluhUYdM9B+8W5Y0XOzPhcogs6HNjCM77N6N
    ved/g5GfWYlzBe7giBK+VlfDD2Dea57V0BWHQjwdBdg7p9Ex726EY2b2ula52gB6
    IRpDNebwpIDMZk/Qo/L1Sh+9qhn9d+5rdc7R6JUiMS4L1Nv1wxO1PI18S1G5qyEl
    mf/+cvlX/JjGj68dGUULXlZnSnZwz06zzSFybAj4e12O3hnHxNbqo97CixHENnLI
    PwxY73tVlE1soObsksIR3nSk+hbRQB5KIhs9rrQscoeXp+yFEvXIxx9945unVuJY
    Cd80tEkL0WcjyowBv0ItInyinDCpTnrQbJFU4QIDAQABAoIBAARfi8PPG6xN7Zj1
    91gOIQXpvqgP7Iu4TTYAlfYhNUoEdDJXpOORPC+SvqvQGw1WXkfmc2T4H3ca8ah3
    CpP+TjSvmg+kRc0qgMfMDMTpMCMnXTI3uj7SsgamUB0SV2IWe2mAldLvVAz9wbqA
    c4/1aME2+RbrshddlX/MvXEGhv/AqQ/xjKDda1GKLwGms5lWHZ/rDz7h7PY2ijAu
    wcghco/iU2UPNXSetI3XurebWMO1G3pg7Z5dShhj/nqAZK2Cmbcl9aCb9wcHmxX3
    N0d6ucMkTrTel1ieUHBqjBMx4W56TcEs7qGVIxdiMXfW1aSNlq87mISJwqtpH7za
    JGebLVECgYEAwOGhqTfJQw1vEZMswf8qGHRhsWgLxKSAd9/vK9QCs9MXZOlV9IBS
    6fyPZimQdf0SVZOX2ToB/A+uk4CngzUx6kl2zTBZnvrWhxg8/0S9v9/F5iwHVMKx
    qVyGwckO/D5VKfILQEFWImn0HVbheP8nFs8PRKnjpFL5PGU920TvRdECgYEAuLLM
    uHQjTZuIK/jr9aTevDh6JMcDfHa2Nj+jRzJWtYtqt4+vrPheSV1BIcouzjDmF1N+
    ooJCU0fnb7TXCqy8Hsojc2he25S5/JG6puAhVwM+b0WWDn5CjMEt71p8Wbt+2IHR
    PG8Xwn7/tGdrlw+DD8Su1Vf1REaV1baIFlm1EhECgYBKlXUruBStRv6R7zU5du/S
    MP6t2SvjyDCdKgyUCBFbc97x+IByYUSukijpOl1QIqH6UW5AY3vs+itpgjBEPkek
    7u9vfKjLHvfhmW/MzcoJ7f/ad2AGWJrWgJ7jRFn1FC1eYOgU2q7x88Kfrb7WSOPW
    oA6pYIBURHl37zYyGb/kYQKBgQCp5mAHtV3cQBxNRtfXyWfTAKjrN97vGUyYLoYG
    MjotGih63sQdewNQvWXyrUfNCJJAFuBAoU5dyaEN0u6VtTv/nrZprTLFDtTfjzaB
    118T6bn/JaXZgy+4xuN4cGY/LQiMJS7SRuc2VRjnXNNNzEklsimZuyW1PrEKPLSG
    ytKT4QKBgBKLEipHEVuBzYHxwhNHnknbh+6QeME/VHF5bFhkg2aLm0NkzZRulb2A
    WdPR9Pnc+ZYJes3Xcr73PzWH1uEGpLC/1HbzcWCfc38siFhgL77F5a8DpQhxkrf/
    tUTPwwOfMKFazsSvhhb2UXpsrIX4EN6QPSht51mbrIXu9n7yDaVl
    -----END RSA PRIVATE KEY-----
    """)
  static let publicKey = Secret(
    """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAiyjjUs5BUsmVgluhUYdM
    9B+8W5Y0XOzPhcogs6HNjCM77N6Nved/g5GfWYlzBe7giBK+VlfDD2Dea57V0BWH
    QjwdBdg7p9Ex726EY2b2ula52gB6IRpDNebwpIDMZk/Qo/L1Sh+9qhn9d+5rdc7R
    6JUiMS4L1Nv1wxO1PI18S1G5qyElmf/+cvlX/JjGj68dGUULXlZnSnZwz06zzSFy
    bAj4e12O3hnHxNbqo97CixHENnLIPwxY73tVlE1soObsksIR3nSk+hbRQB5KIhs9
    rrQscoeXp+yFEvXIxx9945unVuJYCd80tEkL0WcjyowBv0ItInyinDCpTnrQbJFU
    4QIDAQAB
    -----END PUBLIC KEY-----
    """)
}

@Suite("Signatures of SNAP")
struct SNAPSignatureTests {
  @Test("the SNAP signature of the published text is the published signature (contract §8)")
  func published() {
    let text =
      "POST:/v1.0/debit/payment-host-to-host"
      + ":gp9HjjEj813Y9JGoqwOeOPWbnt4CupvIJbU1Mmu4a11MNDZ7Sg5u9a"
      + ":56fa5f4999ad8014de49d7898c1d1d53472569db8999de3c1b752a0dd181e98c"
      + ":2020-01-01T00:00:00+07:00"
    let code = SNAPSignature.code(
      of: text, clientSecret: Secret("fdppqbF5wq7vVegyvsV1CROMv646nJ7A"))
    #expect(
      code == "FSlidRHe4ow9qppNifGVQNcdv67lBjgCiP0BHylh+IKXo4fs2rHaGsFNUY0N8t0r"
        + "PlZs4iAHAOCDklnCccwuJw==")
  }

  private func signature(
    method: String = "POST", path: String = "/v1.0/registration-account-unbinding",
    token: String = "client-token", body: String = #"{"merchantId":"merchant-1"}"#,
    timestamp: String = "2027-01-15T15:00:00+07:00", secret: String = "client-secret"
  ) -> String {
    SNAPSignature.symmetric(
      method: method, path: path, accessToken: Secret(token), body: Secret(body),
      timestamp: timestamp, clientSecret: Secret(secret))
  }

  @Test("SNAP's symmetric signature covers the method, path, token, body, time and secret")
  func symmetric() {
    #expect(
      signature() == "Pt/1MUJKVS9ddfsCsfOmyasE0FEw045ZWtamPX8rZrV8Js3/4oInG5VcA/Nr70xQ"
        + "Q+xOZjAOBz7YhstV2aWu9w==")
    let others = [
      signature(method: "PUT"), signature(path: "/v1.0/registration-account-binding"),
      signature(token: "client-tokeN"), signature(body: #"{"merchantId": "merchant-1"}"#),
      signature(timestamp: "2027-01-15T15:00:01+07:00"), signature(secret: "client-secreT"),
    ]
    #expect(Set(others + [signature()]).count == 7)
  }

  private func asymmetric(
    _ key: Secret, clientKey: String = "acme-sdk", timestamp: String = "2027-01-15T15:00:00+07:00"
  ) throws(UnusableKey) -> String {
    try SNAPSignature.asymmetric(clientKey: clientKey, timestamp: timestamp, privateKey: key)
  }

  @Test("the signature for SNAP's client token equals OpenSSL's, for a PKCS #8 and a PKCS #1 key")
  func asymmetric() throws {
    #expect(try asymmetric(PartnerKeys.good) == OpenSSL.signature)
    #expect(try asymmetric(OpenSSL.traditional) == OpenSSL.signature)
    #expect(try asymmetric(PartnerKeys.good, clientKey: "acme-sdK") != OpenSSL.signature)
    #expect(
      try asymmetric(PartnerKeys.good, timestamp: "2027-01-15T15:00:01+07:00")
        != OpenSSL.signature)
  }

  @Test("a key that is short, public, cut or no PEM text signs nothing for SNAP")
  func keys() {
    let whole = PartnerKeys.good.revealed()
    let bad = [
      PartnerKeys.short, OpenSSL.publicKey, Secret(""), Secret("secret"),
      Secret(String(whole.dropLast(200))), Secret(whole.replacing("BEGIN", with: "BEGUN")),
    ]
    for key in bad { #expect(throws: UnusableKey()) { try asymmetric(key) } }
  }

  @Test(
    "SNAP's timestamp is Jakarta time with its offset, in whole seconds",
    arguments: [
      ("2026-11-21T16:50:00Z", "2026-11-21T23:50:00+07:00"),
      ("2026-12-31T17:00:00.999Z", "2027-01-01T00:00:00+07:00"),
      ("2028-02-28T23:59:59+00:00", "2028-02-29T06:59:59+07:00"),
      ("2026-11-21T23:50:00+07:00", "2026-11-21T23:50:00+07:00"),
    ])
  func timestamp(now: String, text: String) throws {
    #expect(SNAPSignature.timestamp(try #require(Timestamp(rfc3339: now))) == text)
  }
}

@Suite("The X-EXTERNAL-ID of SNAP")
struct ExternalIDTests {
  @Test("an X-EXTERNAL-ID of SNAP has 32 decimal digits, and no two drawn ones are equal")
  func digits() {
    var moment = TransitionContext(now: now, entropy: FixedEntropy())
    let ids = (0..<100).map { _ in ExternalID.random(&moment) }
    #expect(ids.allSatisfy { $0.utf8.count == 32 && $0.utf8.allSatisfy(\.isDigit) })
    #expect(Set(ids).count == 100)
  }

  @Test("an X-EXTERNAL-ID of SNAP is the last 32 decimal digits of a 128-bit random number")
  func whole() {
    struct Same: Entropy {
      let byte: UInt8
      func bytes(_ count: Int) -> [UInt8] { Array(repeating: byte, count: count) }
    }
    func id(_ byte: UInt8) -> String {
      var moment = TransitionContext(now: now, entropy: Same(byte: byte))
      return ExternalID.random(&moment)
    }
    #expect(id(0) == "00000000000000000000000000000000")
    // 2^128 - 1 is 340282366920938463463374607431768211455.
    #expect(id(255) == "66920938463463374607431768211455")
  }
}
