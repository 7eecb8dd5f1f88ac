import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// A server without a call for the status of an event, which the vendor does not publish.
@Suite("Paysafe SCA at a server without a status call")
struct SCABlindTests {
  private static let missing = [
    WalletReplies.refusal(404, "NOT_FOUND"), WalletReplies.refusal(405, ""),
    reply([:], status: 501),
  ]

  @Test("the customer may choose any agreed method if the verifications are unknown")
  func anyMethod() throws {
    for reply in Self.missing {
      var driven = try DrivenSCA(wanting: nil)
      driven.answer(reply)
      #expect(driven.options.contains("OTP.SMS") && driven.options.contains("PIN"))
    }
  }

  @Test("a code whose verdict was lost is asked for again by sca")
  func lostAttempt() throws {
    for reply in Self.missing {
      var driven = try DrivenSCA.challenged()
      driven.enter()
      driven.answer(WalletReplies.gone)
      driven.answer(reply)
      #expect(driven.code != nil && driven.problem?.reason == "interrupted")
    }
  }

  @Test("a challenge that may have been sent can be answered and sent again")
  func lostChallenge() throws {
    for reply in Self.missing {
      var driven = try DrivenSCA(wanting: .sms)
      driven.answer(WalletReplies.gone)
      driven.receive(.woken)
      driven.answer(reply)
      #expect(driven.code != nil && driven.problem?.reason == "may_have_been_sent")
      driven.submit(.resend)
      #expect(driven.challenge == .sms)
    }
  }

  @Test("a PIN whose challenge was lost is requested once more, because it sends no message")
  func lostPIN() throws {
    var driven = try DrivenSCA(wanting: .pin)
    for _ in 0..<2 {
      driven.answer(WalletReplies.gone)
      driven.receive(.woken)
      driven.answer(Self.missing[0])
    }
    #expect(driven.failure?.reason == .providerRejected)
  }

  @Test("sca by push ends as UNKNOWN once the customer says that it is confirmed")
  func confirmed() throws {
    var driven = try DrivenSCA.pushed()
    driven.receive(.woken)
    #expect(driven.submit(.confirmed(at: .wait)) == .ignore)
    driven.answer(Self.missing[0])
    #expect(driven.wait?.takesConfirmation == true && driven.wake != .seconds(3))
    driven.submit(.confirmed(at: .wait))
    #expect(driven.result?["status"] == "UNKNOWN" && driven.result?["eventId"] == "evt-1")
  }

  @Test("the return from the provider's page ends sca by redirect as UNKNOWN")
  func returned() throws {
    var driven = try DrivenSCA.redirected()
    driven.receive(.woken)
    driven.answer(Self.missing[1])
    #expect(driven.page?.completes == .submit)
    driven.submit(.redirect(url: Secret(WalletReplies.returnURL + "?status=success")))
    #expect(driven.result?["status"] == "UNKNOWN")
  }

  @Test("a payment is repeated when the customer says that the push is confirmed")
  func payment() throws {
    var driven = try pushedPayment()
    driven.submit(.confirmed(at: .wait))
    #expect(driven.state == "retrying")
    // The wallet still demands the approval, so the payment was not made.
    driven.answer(Self.demand)
    #expect(driven.wait?.takesConfirmation == true && driven.problem?.reason == "not_confirmed")
    driven.submit(.confirmed(at: .wait))
    driven.answer(reply(["id": "pay-1"], status: 201))
    #expect(driven.result?["status"] == 201)
  }

  @Test("a payment whose confirmation was reported is finished after a restart if it is safe")
  func restart() throws {
    var driven = try pushedPayment()
    try driven.restart()
    #expect(driven.wait?.takesConfirmation == true && driven.calls.isEmpty)
    driven.submit(.confirmed(at: .wait))
    try driven.restart()
    // The repeated call may have made the payment.
    #expect(driven.failure?.retryable == false)
  }

  @Test("a payment is repeated if the verdict on its code was lost, and the code is asked again")
  func lostVerdict() throws {
    var driven = try DrivenOperation.payment()
    driven.answer(SCADemandTests.byHeader)
    driven.answer(WalletReplies.challenge())
    driven.enter()
    driven.answer(WalletReplies.gone)
    driven.answer(Self.missing[0])
    #expect(driven.state == "retrying")
    driven.answer(SCADemandTests.byHeader)
    #expect(driven.code != nil && driven.problem?.reason == "interrupted")
  }

  /// A demand that accepts any agreed method.
  private static let demand = reply(
    ["scaDetails": ["eventId": "evt-1", "walletOperationId": "wop-1"]])

  /// A payment whose customer has got a push, and whose server has no status call.
  private func pushedPayment() throws -> DrivenOperation {
    var driven = try DrivenOperation.payment(wanting: .push)
    driven.answer(Self.demand)
    driven.answer(WalletReplies.challenge(["verification": ["method": "PUSH_NOTIFICATION"]]))
    driven.receive(.woken)
    driven.answer(Self.missing[0])
    return driven
  }
}
