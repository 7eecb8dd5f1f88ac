import JSONRPC
import Testing
import UsherCore
import UsherTestKit

@testable import UsherKit

/// Tests of the documented program with a fake daemon.
@Suite("Documented program for a phone number", .timeLimit(.minutes(10)))
struct PhoneSignUpTests {
  /// Runs the program and returns its outcome and the remaining seconds at each question.
  ///
  /// - Parameter left: The seconds until the codes of ``PhoneFlowSnapshot`` expire.
  private func verify(
    _ daemon: PhoneDaemon, left: Double = 30
  ) async throws -> (outcome: Result<TCTrueProfile, any Error>, asked: [Int]) {
    try await daemon.run { path in
      let clock = FakeClock(Timestamp(seconds: 1_893_456_060 - left))
      let (asked, feed) = AsyncStream.makeStream(of: Int.self)
      let program = PhoneSignUp(
        sdk: TCTrueSDK(provider: "truecaller", socketPath: path, clock: clock)
      ) { seconds in
        feed.yield(seconds)
        return ("123456", "Asha", "Rao")
      }
      let outcome: Result<TCTrueProfile, any Error>
      do {
        outcome = .success(try await program.verify(phone: "9876543210", countryCode: "IN"))
      } catch {
        outcome = .failure(error)
      }
      feed.finish()
      var seconds: [Int] = []
      for await one in asked { seconds.append(one) }
      return (outcome, seconds)
    }
  }

  @Test("the phone program asks for no code if the number was verified before")
  func verifiedBefore() async throws {
    let daemon = PhoneDaemon(begins: [[.creating, .verifiedBefore, .succeeded("verifiedBefore")]])
    let (outcome, asked) = try await verify(daemon)
    #expect(try outcome.get().lastName == "Rao" && asked.isEmpty)
  }

  @Test("the phone program ends with an error when the attempts or the code's time are used up")
  func ends() async throws {
    let capped = PhoneFlowSnapshot.failed("verifying", "attempts_exhausted", code: 10)
    let cases: [(PhoneDaemon.Answer, left: Double, code: TCTrueSDKErrorCode)] = [
      (.advances([.verifying, capped]), 30, .internal),
      (.advances([.asking("code_expired")]), 0, .internal),
    ]
    for (answer, left, code) in cases {
      let daemon = PhoneDaemon(begins: [[.creating, .otpInitiated]], answers: [answer])
      let (outcome, asked) = try await verify(daemon, left: left)
      #expect(throws: TCError.self) { try outcome.get() }
      guard case .failure(let error as TCError) = outcome else { continue }
      #expect(error.getErrorCode() == code && asked == [Int(left)])
    }
    let refused = PhoneDaemon(begins: [[.failed("creating", "invalid_request", code: 14)]])
    let (outcome, asked) = try await verify(refused)
    #expect(throws: TCError.self) { try outcome.get() }
    #expect(asked.isEmpty)
  }
}
