import Foundation
import Testing

@testable import UsherSandbox

@Suite("Time-based one-time passwords of the sandbox")
struct TOTPTests {
  private let secret = Array("12345678901234567890".utf8)

  private func at(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

  @Test("a TOTP code is accepted in its own time step and the two adjacent steps, and in no other")
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
