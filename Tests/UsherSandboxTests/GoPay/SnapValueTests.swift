import Foundation
import Testing

@testable import UsherSandbox

@Suite("Signatures and timestamps of GoPay's SNAP API")
struct SnapValueTests {
  /// The vendor's page on account binding shows this text, although its path is a payment's.
  private static let text = SnapSignature.text(
    "POST", path: "/v1.0/debit/payment-host-to-host",
    accessToken: "gp9HjjEj813Y9JGoqwOeOPWbnt4CupvIJbU1Mmu4a11MNDZ7Sg5u9a",
    bodyDigest: "56fa5f4999ad8014de49d7898c1d1d53472569db8999de3c1b752a0dd181e98c",
    timestamp: "2020-01-01T00:00:00+07:00")
  private static let secret = "fdppqbF5wq7vVegyvsV1CROMv646nJ7A"
  private static let signature =
    "FSlidRHe4ow9qppNifGVQNcdv67lBjgCiP0BHylh+IKXo4fs2rHaGsFNUY0N8t0rPlZs4iAHAOCDklnCccwuJw=="

  @Test("the vendor's published SNAP signature is reproduced and is valid")
  func vector() {
    #expect(
      Self.text
        == "POST:/v1.0/debit/payment-host-to-host:"
        + "gp9HjjEj813Y9JGoqwOeOPWbnt4CupvIJbU1Mmu4a11MNDZ7Sg5u9a:"
        + "56fa5f4999ad8014de49d7898c1d1d53472569db8999de3c1b752a0dd181e98c:"
        + "2020-01-01T00:00:00+07:00")
    #expect(SnapSignature.sign(Self.text, secret: Self.secret) == Self.signature)
    #expect(SnapSignature.isValid(Self.signature, over: Self.text, secret: Self.secret))
  }

  @Test("a SNAP signature with any one character changed or a wrong padding is invalid")
  func everyByte() {
    let bytes = Array(Self.signature.utf8)
    for index in bytes.indices {
      var changed = bytes
      changed[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let text = String(decoding: changed, as: UTF8.self)
      #expect(!SnapSignature.isValid(text, over: Self.text, secret: Self.secret), "\(index)")
    }
    // The last letter before the padding has four unused bits.
    let sloppy = Self.signature.dropLast(3) + "x=="
    for text in [String(sloppy), "", String(Self.signature.dropLast()), Self.signature + "="] {
      #expect(!SnapSignature.isValid(text, over: Self.text, secret: Self.secret))
    }
  }

  @Test("SNAP minification removes whitespace between JSON tokens and keeps it inside strings")
  func minified() {
    let pretty = "{ \"a b\" :\n\t[1, \"\\\" c \"] }\r\n"
    let plain = SnapSignature.minified(Array(pretty.utf8))
    #expect(String(decoding: plain, as: UTF8.self) == "{\"a b\":[1,\"\\\" c \"]}")
    #expect(SnapSignature.digest(Array(pretty.utf8)) == SnapSignature.digest(plain))
    // The SHA-256 digest of the empty message (FIPS 180-4).
    #expect(
      SnapSignature.digest([])
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test(
    "a SNAP timestamp is parsed with its UTC offset",
    arguments: [
      ("2027-01-15T08:00:00+00:00", 1_800_000_000), ("2027-01-15T15:00:00+07:00", 1_800_000_000),
      ("2027-01-14T22:30:00-09:30", 1_800_000_000), ("1970-01-01T00:00:00+00:00", 0),
      ("2024-02-29T23:59:59+00:00", 1_709_251_199), ("2000-03-01T00:00:00+00:00", 951_868_800),
    ])
  func times(_ text: String, _ seconds: Double) {
    #expect(SnapTimestamp(text)?.date == Date(timeIntervalSince1970: seconds))
  }

  @Test(
    "a SNAP timestamp is written with Jakarta's offset +07:00 and parsed back unchanged",
    arguments: 0..<40)
  func written(_ step: Int) throws {
    let date = Date(timeIntervalSince1970: Double(step) * 46_123_457)
    let text = SnapTimestamp(date).text
    #expect(text.hasSuffix("+07:00"))
    #expect(SnapTimestamp(text)?.date == date)
  }

  @Test(
    "a malformed SNAP timestamp is refused",
    arguments: [
      "", "2027-01-15T08:00:00Z", "2027-01-15T08:00:00", "2027-01-15T08:00:00.000+00:00",
      "2027-01-15 08:00:00+00:00", "2027-13-15T08:00:00+00:00", "2027-02-29T08:00:00+00:00",
      "2027-00-15T08:00:00+00:00", "2027-01-00T08:00:00+00:00", "2027-01-15T24:00:00+00:00",
      "2027-01-15T08:60:00+00:00", "2027-01-15T08:00:60+00:00", "2027-01-15T08:00:00+15:00",
      "2027-01-15T08:00:00+00:60", "2027-01-15T08:00:00*07:00", "+027-01-15T08:00:00+00:00",
      "2027-01-15T08:00:00+0700 ",
    ])
  func notTimes(_ text: String) {
    #expect(SnapTimestamp(text) == nil)
  }
}
