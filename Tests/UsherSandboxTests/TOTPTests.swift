import Foundation
import Testing

@testable import UsherSandbox

@Suite("One-time passwords")
struct TOTPTests {
  private let secret = Array("12345678901234567890".utf8)

  private func at(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

  @Test(
    "the codes of RFC 6238 appendix B come out",
    arguments: [
      (59.0, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"),
      (1_234_567_890, "89005924"), (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
    ])
  func vectors(_ seconds: Double, _ code: String) {
    #expect(TOTP(secret: secret, digits: 8).code(at: at(seconds)) == code)
  }

  @Test("another period makes other codes, and leading zeros stay")
  func period() {
    let slow = TOTP(secret: secret, period: 60)
    #expect(slow.code(at: at(0)) == "755224")
    #expect(slow.code(at: at(59.9)) == "755224")
    #expect(slow.code(at: at(60)) == "287082")
    #expect(slow.secondsLeft(at: at(61.5)) == 59)
    #expect(TOTP(secret: secret, digits: 8).code(at: at(1_111_111_109)).hasPrefix("0"))
  }

  @Test("a code is known in its own step and its neighbours, and nowhere else")
  func window() {
    let totp = TOTP(secret: secret)
    let code = totp.code(at: start)
    let step = totp.step(at: start)
    for seconds in [-30.0, 0, 30] {
      #expect(totp.step(of: code, at: start.addingTimeInterval(seconds)) == step)
    }
    #expect(totp.step(of: code, at: start.addingTimeInterval(60)) == nil)
    #expect(totp.step(of: code, at: start.addingTimeInterval(-60)) == nil)
    #expect(totp.step(of: "", at: start) == nil)
  }
}
