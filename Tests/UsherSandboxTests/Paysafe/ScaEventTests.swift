import Foundation
import Testing

@testable import UsherSandbox

private let pin = SCAVerification(.pin)
private let sms = SCAVerification(.otp, .sms)
private let push = SCAVerification(.pushNotification)

/// An SCA event with a clock that the test advances.
private struct Watched {
  var event: ScaEvent
  var now = start

  init(
    available: [SCAVerification] = [pin, sms, push], operation: WalletRequestOperation? = nil,
    _ change: (inout ScaEvent.Terms) -> Void = { _ in }
  ) {
    var terms = PaysafeBackendSettings().eventTerms
    change(&terms)
    event = ScaEvent(
      id: "evt_1", walletOperationID: "wop_1", user: Users.standard[0], operation: operation,
      available: available, terms: terms, now: start)
  }

  mutating func wait(_ seconds: Double) { now = now.addingTimeInterval(seconds) }

  /// Returns the code of the refusal, or nil if the challenge was sent.
  mutating func challenge(_ verification: SCAVerification = pin) -> String? {
    challengeRefusal(verification)?.code
  }

  mutating func challengeRefusal(_ verification: SCAVerification = pin) -> WalletRefusal? {
    do throws(WalletRefusal) {
      _ = try event.send(verification, id: "chl_1", code: nil, returnURL: nil, now: now)
      return nil
    } catch {
      return error
    }
  }

  mutating func attempt(_ isRight: Bool, _ verification: SCAVerification = pin) -> String {
    do throws(WalletRefusal) {
      switch try event.attempt(verification, now: now, isRight: { _ in isRight }) {
      case .right: return "right"
      case .wrong: return "wrong"
      }
    } catch {
      return error.code
    }
  }

  mutating func redeem(_ operation: WalletRequestOperation, _ form: WalletRequestOperation.Form)
    -> String?
  {
    do throws(WalletRefusal) {
      let proof = ScaProof(eventID: "evt_1", walletOperationID: "wop_1", form: form)
      try event.redeem(for: operation, proof, now: now)
      return nil
    } catch {
      return error.code
    }
  }
}

@Suite("Rules of an SCA event in the Paysafe fake")
struct ScaEventTests {
  @Test(
    "the first SCA challenge over the limit starts the cool-down, after which the count restarts")
  func coolDown() {
    var watched = Watched { ($0.allowableChallenges, $0.coolDownSeconds) = (2, 60) }
    #expect(watched.challenge() == nil)
    #expect(watched.challenge() == nil)
    #expect(watched.event.currentChallenges == 2)
    watched.wait(100)
    #expect(watched.challengeRefusal()?.retryAfter == 60)
    watched.wait(20.5)
    let refusal = watched.challengeRefusal()
    #expect(refusal?.status == 429)
    #expect(refusal?.code == "CHALLENGE_LIMIT")
    #expect(refusal?.retryAfter == 40)
    watched.wait(39.5)
    #expect(watched.challenge() == nil)
    #expect(watched.event.currentChallenges == 1)
  }

  @Test("a refused SCA challenge leaves the open challenge open")
  func openStays() {
    var watched = Watched { $0.allowableChallenges = 1 }
    #expect(watched.challenge() == nil)
    #expect(watched.challenge() == "CHALLENGE_LIMIT")
    #expect(watched.challenge(SCAVerification(.otp, .email)) == "VERIFICATION_NOT_AVAILABLE")
    #expect(watched.attempt(true) == "right")
  }

  @Test(
    "wrong SCA attempts are counted over all challenges, and the last allowed one fails the event")
  func attempts() {
    var watched = Watched { $0.allowableAttempts = 3 }
    #expect(watched.challenge() == nil)
    #expect(watched.attempt(false) == "wrong")
    #expect(watched.attempt(false) == "wrong")
    #expect(watched.event.state.status == "PENDING")
    #expect(watched.challenge() == nil)
    #expect(watched.event.currentAttempts == 2)
    #expect(watched.attempt(false) == "wrong")
    #expect(watched.event.state == .failed)
    #expect(watched.event.currentAttempts == 3)
    #expect(watched.attempt(true) == "ATTEMPTS_EXHAUSTED")
    #expect(watched.challenge() == "ATTEMPTS_EXHAUSTED")
    watched.wait(1_000_000)
    #expect(watched.attempt(true) == "ATTEMPTS_EXHAUSTED")
    #expect(watched.event.currentAttempts == 3)
  }

  @Test("a verified SCA event refuses further attempts and challenges with EVENT_COMPLETED")
  func completed() {
    var watched = Watched()
    #expect(watched.challenge() == nil)
    #expect(watched.attempt(true) == "right")
    #expect(watched.event.state == .verified(isUsed: false))
    #expect(watched.attempt(true) == "EVENT_COMPLETED")
    #expect(watched.attempt(false) == "EVENT_COMPLETED")
    #expect(watched.challenge() == "EVENT_COMPLETED")
    #expect(watched.event.currentAttempts == 1)
    #expect(watched.event.currentChallenges == 1)
  }

  @Test("an SCA attempt needs an open, unexpired challenge of the same verification")
  func challengeRequired() {
    var watched = Watched { $0.challengeSeconds = 30 }
    #expect(watched.attempt(true) == "CHALLENGE_REQUIRED")
    #expect(watched.challenge() == nil)
    #expect(watched.attempt(true, sms) == "CHALLENGE_REQUIRED")
    watched.wait(30)
    #expect(watched.attempt(true) == "CHALLENGE_REQUIRED")
    #expect(watched.event.currentAttempts == 0)
    #expect(watched.challenge(sms) == nil)
    #expect(watched.attempt(true) == "CHALLENGE_REQUIRED")
    #expect(watched.attempt(true, sms) == "right")
    let email = SCAVerification(.otp, .email)
    var other = Watched(available: [sms, email])
    #expect(other.challenge(sms) == nil)
    #expect(other.attempt(true, email) == "CHALLENGE_REQUIRED")
  }

  @Test("an expired SCA event refuses everything, and no challenge outlives its event")
  func expiry() {
    var watched = Watched { ($0.eventSeconds, $0.challengeSeconds) = (100, 300) }
    #expect(watched.challenge() == nil)
    #expect(watched.event.openChallenge(at: start)?.expires == start.addingTimeInterval(100))
    watched.wait(100)
    #expect(watched.attempt(true) == "EVENT_EXPIRED")
    #expect(watched.challenge() == "EVENT_EXPIRED")
    #expect(watched.event.decide(approve: true, now: watched.now) == nil)
  }

  @Test("an SCA event with an empty list allows every verification that the customer has")
  func anyVerification() {
    var watched = Watched(available: [])
    #expect(watched.challenge(SCAVerification(.otp, .email)) == nil)
    #expect(watched.challenge(SCAVerification(.passkeys)) == "VERIFICATION_NOT_AVAILABLE")
  }

  @Test("a verified SCA event permits exactly its own operation, once, in its form and in time")
  func redeeming() {
    let body: JSON = ["amount": "150.00"]
    func operation(_ body: JSON?, _ method: Endpoint.Method = .post) -> WalletRequestOperation {
      WalletRequestOperation(
        EndpointCall(method, "/p", base: ""), body: body, summary: "s", announced: .body)
    }
    let approved = operation(body)
    var watched = Watched(operation: approved)
    #expect(watched.redeem(approved, .body) == "SCA_MISMATCH")
    #expect(watched.challenge() == nil)
    #expect(watched.redeem(approved, .body) == "SCA_MISMATCH")
    #expect(watched.attempt(true) == "right")
    #expect(watched.redeem(operation(["amount": "150.01"]), .body) == "SCA_MISMATCH")
    #expect(watched.redeem(operation(body, .put), .body) == "SCA_MISMATCH")
    #expect(watched.redeem(approved, .header) == "SCA_MISMATCH")
    var late = watched
    late.wait(900)
    #expect(late.redeem(approved, .body) == "SCA_MISMATCH")
    #expect(watched.redeem(approved, .body) == nil)
    #expect(watched.event.state == .verified(isUsed: true))
    #expect(watched.redeem(approved, .body) == "SCA_MISMATCH")
  }

  @Test("a verified SCA event without an operation permits no operation")
  func noOperation() {
    var watched = Watched()
    let operation = WalletRequestOperation(
      EndpointCall(.get, "/p", base: ""), body: nil, summary: "s", announced: .header)
    #expect(watched.challenge() == nil)
    #expect(watched.attempt(true) == "right")
    #expect(watched.redeem(operation, .header) == "SCA_MISMATCH")
  }
}
