import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

/// The keys of RFC 6238 appendix B: these digits, repeated up to the length of the hash.
private enum Seed {
  static let sha1 = bytes(20)
  static let sha256 = bytes(32)
  static let sha512 = bytes(64)

  private static func bytes(_ count: Int) -> [UInt8] {
    Array(Array(repeating: Array("1234567890".utf8), count: 7).joined().prefix(count))
  }
}

private func codes(
  _ seed: [UInt8] = Seed.sha1, digits: Int = 6, period: Int = 60,
  _ algorithm: TOTPAlgorithm = .sha1
) -> OneTimeCode {
  var settings = TOTPSettings.blank
  settings.digits = digits
  settings.periodSeconds = period
  settings.algorithm = algorithm
  return OneTimeCode(TOTPKey(bytes: seed), settings)
}

extension OneTimeCode {
  fileprivate func code(at seconds: Double) -> String {
    code(of: step(at: Timestamp(seconds: seconds))).revealed()
  }
}

@Suite("One-time codes")
struct OneTimeCodeTests {
  @Test("the codes of the counters 0 to 9 are those of RFC 4226 appendix D")
  func counters() {
    #expect(
      (0...9).map { codes().code(of: $0).revealed() } == [
        "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871",
        "520489",
      ])
  }

  @Test(
    "the codes of SHA-1, SHA-256 and SHA-512 are those of RFC 6238 appendix B",
    arguments: [
      (59.0, "94287082", "46119246", "90693936"),
      (1_111_111_109, "07081804", "68084774", "25091201"),
      (1_111_111_111, "14050471", "67062674", "99943326"),
      (1_234_567_890, "89005924", "91819424", "93441116"),
      (2_000_000_000, "69279037", "90698825", "38618901"),
      (20_000_000_000, "65353130", "77737706", "47863826"),
    ])
  func times(seconds: Double, sha1: String, sha256: String, sha512: String) {
    #expect(codes(Seed.sha1, digits: 8, period: 30, .sha1).code(at: seconds) == sha1)
    #expect(codes(Seed.sha256, digits: 8, period: 30, .sha256).code(at: seconds) == sha256)
    #expect(codes(Seed.sha512, digits: 8, period: 30, .sha512).code(at: seconds) == sha512)
  }

  @Test(
    "BSA's one-time codes have SHA-1, six digits and a period of 60 s (contract §8)",
    arguments: [
      (0.0, "755224"), (59, "755224"), (59.999, "755224"), (60, "287082"), (119, "287082"),
      (120, "359152"), (1_111_111_109, "360094"), (1_111_111_111, "360094"),
      (1_234_567_890, "713351"), (2_000_000_000, "864010"), (20_000_000_000, "948864"),
    ])
  func bsa(seconds: Double, code: String) {
    let codes = OneTimeCode(TOTPKey(bytes: Seed.sha1), TOTPSettings.blank)
    #expect(codes.code(at: seconds) == code)
  }

  @Test("a time step begins where the one before it ends, also before 1970 and at the latest time")
  func steps() {
    let codes = codes()
    for (milliseconds, step) in [
      (0, 0), (59_999, 0), (60_000, 1), (-1, -1), (-60_000, -1), (-60_001, -2),
    ] as [(Int64, Int64)] {
      #expect(codes.step(at: Timestamp(milliseconds: milliseconds)) == step)
    }
    for moment in [Timestamp.earliest, Timestamp(seconds: 1e9 + 0.5), .latest] {
      let step = codes.step(at: moment)
      #expect(codes.start(of: step) <= moment && moment <= codes.start(of: step + 1))
      #expect(codes.code(of: step).revealed().count == 6)
    }
  }

  @Test("the next start of a time step is the given time only if a step begins just then")
  func firstStart() {
    let codes = codes()
    #expect(codes.firstStart(from: Timestamp(seconds: 120)) == Timestamp(seconds: 120))
    #expect(codes.firstStart(from: Timestamp(seconds: 120.001)) == Timestamp(seconds: 180))
    #expect(codes.firstStart(from: Timestamp(seconds: 119.999)) == Timestamp(seconds: 120))
    #expect(codes.firstStart(from: Timestamp(seconds: -0.001)) == Timestamp(seconds: 0))
  }

  @Test("a TOTP key and a one-time code do not appear in a dump")
  func silent() {
    var text = ""
    dump(codes(), to: &text)
    dump(codes().code(of: 0), to: &text)
    #expect(!text.contains("755224") && !text.contains("1234567890") && !text.contains("49"))
    #expect("\(TOTPKey(bytes: Seed.sha1))" == "<secret>")
  }
}

@Suite("Secrets of authenticators")
struct TOTPKeyTests {
  @Test(
    "a TOTP secret is read in any letter case, with or without blanks and padding",
    arguments: [
      "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", "gezdgnbvgy3tqojqgezdgnbvgy3tqojq",
      "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ======",
    ])
  func base32(text: String) {
    #expect(TOTPKey(base32: Secret(text)) == TOTPKey(bytes: Seed.sha1))
  }

  @Test("a TOTP secret of less than 80 bits is refused")
  func short() {
    let sixteen = Secret("GEZDGNBVGY3TQOJQGEZDGNBVGY")
    #expect(TOTPKey(base32: sixteen) == TOTPKey(bytes: Array("1234567890123456".utf8)))
    let ten = Secret("GEZDGNBVGY3TQOJQ")
    #expect(TOTPKey(base32: ten) == TOTPKey(bytes: Array("1234567890".utf8)))
    #expect(TOTPKey(base32: Secret("GEZDGNBVGY3TQOI")) == nil)
    #expect(TOTPKey(base32: Secret("")) == nil)
  }

  @Test(
    "Base32 decodes the test vectors of RFC 4648 §10",
    arguments: [
      ("", ""), ("MY======", "f"), ("MZXQ====", "fo"), ("MZXW6===", "foo"), ("MZXW6YQ=", "foob"),
      ("MZXW6YTB", "fooba"), ("MZXW6YTBOI======", "foobar"), ("mzxw6ytboi", "foobar"),
    ])
  func vectors(text: String, bytes: String) {
    #expect(Base32.decode(text) == Array(bytes.utf8))
  }

  @Test(
    "a text that is not Base32 is not decoded",
    arguments: [
      "M", "MZX", "MZXW6Y", "MZXW6YT1", "MZXW6YT0", "MZXW6YT8", "MZXW-6YT", "MZ=W6YTB", "=MZXW6YT",
      "MZ", "MZXW6YTBOJ", "\u{131}ZXW6YTB", "\u{17F}ZXW6YTB", "ＭZXW6YTB", "MZXW6YTB\n",
    ])
  func none(text: String) {
    #expect(Base32.decode(text) == nil)
  }
}
