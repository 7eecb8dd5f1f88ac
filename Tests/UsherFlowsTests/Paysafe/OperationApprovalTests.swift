import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Approval of a Paysafe operation")
struct OperationApprovalTests {
  private let byBody = reply(["scaDetails": SCADemandTests.details])

  /// Returns a demand to approve another event.
  private func another(_ id: JSONValue) -> HTTPReply {
    var details = SCADemandTests.details
    details["eventId"] = id
    return reply(["scaDetails": details])
  }

  /// Returns a flow that is verified and retries its call.
  private func approved(_ demand: HTTPReply = SCADemandTests.byHeader) throws -> DrivenOperation {
    var driven = try DrivenOperation.payment()
    driven.answer(demand)
    driven.answer(WalletReplies.challenge())
    driven.enter()
    driven.answer(WalletReplies.verdict("VERIFIED"))
    return driven
  }

  @Test(
    "an approved Paysafe operation is repeated with its approval as it was demanded (trap 3)",
    arguments: [PaysafeCall.Approval.Form.header, .body])
  func wholeWay(form: PaysafeCall.Approval.Form) throws {
    var driven = try DrivenOperation.payment()
    let operation = try #require(driven.operationCall?.0)
    driven.answer(form == .header ? SCADemandTests.byHeader : byBody)
    #expect(driven.state == "challenging" && driven.challenge == .sms)
    #expect(driven.flow.view.key == "evt-1")
    driven.answer(WalletReplies.challenge())
    #expect(driven.code?.operation?.payee == "Bakery")
    driven.enter("000000")
    driven.answer(WalletReplies.verdict("FAILED"))
    #expect(driven.problem?.reason == "wrong_code" && driven.code?.attemptsLeft == 2)
    driven.enter()
    driven.answer(WalletReplies.verdict("VERIFIED"))
    #expect(driven.state == "retrying" && driven.flow.view.key == "evt-1")
    #expect(driven.problem == nil)
    let approval = PaysafeCall.Approval(
      eventID: "evt-1", walletOperationID: "wop-1", form: form)
    #expect(
      driven.calls == [.operation(operation, account: AccountID("acc_1"), approval: approval)])
    driven.answer(reply(["paymentId": "p-1"], status: 201))
    #expect(driven.result == ["status": 201, "body": ["paymentId": "p-1"]])
  }

  @Test("the customer of a Paysafe operation chooses if the wanted verification is missing")
  func choosing() throws {
    var driven = try DrivenOperation.payment(wanting: nil)
    driven.answer(byBody)
    #expect(driven.options == ["OTP.SMS", "PIN"] && driven.problem == nil)
    #expect(driven.choice?.operation?.amount == "120.00 EUR")
    #expect(
      driven.submit(.choice("nothing"))
        == .refuse(
          field: "input.id", message: "input.id is not one of the options"))
    driven = try DrivenOperation.payment(wanting: .push)
    driven.answer(byBody)
    #expect(driven.options == ["OTP.SMS", "PIN"])
    #expect(driven.problem?.reason == "verification_unavailable")
  }

  @Test("an unreadable demand for SCA ends a Paysafe operation with provider_protocol_error")
  func unreadable() throws {
    for demand in [reply(["scaDetails": [:]]), SCADemandTests.header("SCA x=y")] {
      var driven = try DrivenOperation.payment()
      driven.answer(demand)
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("a Paysafe operation whose approval is rejected or fails is not performed")
  func notApproved() throws {
    for (status, reason) in [
      ("REJECTED", .denied), ("FAILED", .attemptsExhausted),
    ] as [(JSONValue, Failure.Reason)] {
      var driven = try DrivenOperation.payment()
      driven.answer(byBody)
      driven.answer(WalletReplies.challenge())
      driven.enter()
      driven.answer(WalletReplies.verdict(status, ["currentAttempts": 3]))
      #expect(driven.failure?.reason == reason)
      #expect(driven.failure?.retryable == true && driven.calls.isEmpty)
    }
  }

  @Test("a Paysafe operation expires at the expirationTime of the demand")
  func expiry() throws {
    var details = SCADemandTests.details
    details["expirationTime"] = .string((now + .seconds(30)).description)
    var driven = try DrivenOperation.payment(wanting: nil)
    driven.answer(reply(["scaDetails": details]))
    #expect(driven.wake == .seconds(30))
    driven.clock = now + .seconds(30)
    driven.receive(.woken)
    #expect(driven.failure?.reason == .expired)
  }

  /// Returns the stored flow with one piece of its text replaced by another.
  private func tampered(
    _ driven: DrivenOperation, _ old: String, _ new: String
  ) throws -> PaysafeOperation {
    let text = try stored(driven.flow).replacing("\\/", with: "/")
    #expect(text.contains(old))
    let decoder = JSONDecoder()
    decoder.userInfo[.sealedStorage] = true
    return try decoder.decode(
      PaysafeOperation.self, from: Data(text.replacing(old, with: new).utf8))
  }

  @Test(
    "a Paysafe operation that no longer equals the approved one is not performed",
    arguments: [
      (#""120.00""#, #""920.00""#), ("/wallets/w/payments", "/wallets/w/payment5"),
      (#""POST""#, #""PUT""#), ("Bakery", "Butcher"), ("120.00 EUR", "1.00 EUR"),
      (#""tip":0.5"#, #""tip":0.25"#), (#""tip":0.5"#, #""top":0.5"#), ("Pay", "Nay"),
    ])
  func dynamicLinking(old: String, new: String) throws {
    var driven = try DrivenOperation.payment()
    driven.answer(byBody)
    driven.answer(WalletReplies.challenge())
    driven.enter()
    var untouched = driven
    untouched.flow = try tampered(driven, old, old)
    untouched.answer(WalletReplies.verdict("VERIFIED"))
    #expect(untouched.operationCall != nil)
    driven.flow = try tampered(driven, old, new)
    driven.answer(WalletReplies.verdict("VERIFIED"))
    #expect(driven.calls.isEmpty)
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("approved") == true)
  }

  @Test("an approved Paysafe operation that changes between two tries is not performed")
  func changedLater() throws {
    var driven = try approved()
    driven.answer(WalletReplies.unsent)
    driven.flow = try tampered(driven, #""120.00""#, #""920.00""#)
    driven.receive(.woken)
    #expect(driven.failure?.reason == .invalidRequest && driven.calls.isEmpty)
  }

  @Test("a new demand at the retry of a Paysafe operation needs a new approval, three at most")
  func rounds() throws {
    var driven = try approved(another("evt-1"))
    for id in ["evt-2", "evt-3"] {
      driven.answer(another(.string(id)))
      #expect(driven.challenge == .sms && driven.flow.view.key == id)
      driven.answer(WalletReplies.challenge(["eventId": .string(id)]))
      driven.enter()
      driven.answer(WalletReplies.verdict("VERIFIED", ["eventId": .string(id)]))
      #expect(driven.operationCall?.1?.eventID == id)
    }
    driven.answer(another("evt-4"))
    #expect(driven.failure?.reason == .providerRejected && driven.calls.isEmpty)
  }

  @Test("Paysafe operation asks for the status of a verified event instead of a challenge (trap 4)")
  func sameEvent() throws {
    var driven = try approved(byBody)
    for _ in 0..<2 {
      driven.answer(byBody)
      #expect(driven.isAsking)
      driven.answer(WalletReplies.standing("VERIFIED"))
      #expect(driven.operationCall?.1?.eventID == "evt-1")
    }
    driven.answer(byBody)
    #expect(driven.failure?.reason == .providerRejected)
  }

  @Test("the retry of a Paysafe operation has the form of the latest demand")
  func changedForm() throws {
    var driven = try approved(SCADemandTests.byHeader)
    #expect(driven.operationCall?.1?.form == .header)
    driven.answer(byBody)
    driven.answer(WalletReplies.standing("VERIFIED"))
    #expect(driven.operationCall?.1?.form == .body)
  }

  @Test("an approved Paysafe operation that may have been performed is not repeated")
  func lostRetry() throws {
    for outcome in [WalletReplies.gone, .reply(reply(text: "", status: 502))] {
      var driven = try approved()
      driven.answer(outcome)
      #expect(driven.failure?.reason == .providerUnreachable && driven.failure?.retryable == false)
    }
    var restarted = try approved()
    try restarted.restart()
    #expect(restarted.failure?.reason == .providerUnreachable)
    var unsent = try approved()
    unsent.answer(WalletReplies.unsent)
    #expect(unsent.state == "retrying")
    unsent.receive(.woken)
    #expect(unsent.operationCall?.1?.eventID == "evt-1")
  }

  @Test("a Paysafe operation restored during SCA asks for the event's status and continues")
  func restartWithin() throws {
    var driven = try DrivenOperation.payment()
    driven.answer(byBody)
    driven.answer(WalletReplies.challenge())
    driven.enter()
    try driven.restart()
    #expect(driven.isAsking && driven.state == "inquiring")
    driven.answer(WalletReplies.standing("VERIFIED"))
    #expect(driven.operationCall?.1?.eventID == "evt-1")
  }

  @Test("an approved GET of Paysafe operation is repeated after a 503 and after a restart")
  func read() throws {
    var driven = try DrivenOperation.get()
    driven.answer(byBody)
    driven.submit(.choice("PIN"))
    driven.answer(WalletReplies.challenge(["verification": ["method": "PIN"]]))
    driven.submit(.password(Secret("2468")))
    driven.answer(WalletReplies.verdict("VERIFIED"))
    driven.answer(reply(text: "", status: 503))
    #expect(driven.wake == .seconds(1) && driven.state == "retrying")
    try driven.restart()
    #expect(driven.operationCall?.1?.eventID == "evt-1")
    driven.answer(reply(["balance": 1]))
    #expect(driven.result?["body"] == ["balance": 1])
  }

  @Test("two Paysafe operations of one account share neither events nor approvals")
  func twoAtOnce() throws {
    var one = try DrivenOperation.payment()
    var two = try DrivenOperation.payment { $0.body = ["amount": "130.00"] }
    one.answer(another("evt-1"))
    two.answer(another("evt-2"))
    one.answer(WalletReplies.challenge())
    let call = try #require(one.pending)
    #expect(
      two.receive(.called(call, .reply(WalletReplies.challenge(["eventId": "evt-2"])))) == .ignore)
    two.answer(WalletReplies.challenge(["eventId": "evt-2"]))
    one.enter()
    one.answer(WalletReplies.verdict("VERIFIED"))
    #expect(one.operationCall?.0.body?["amount"] == "120.00")
    #expect(two.state == "challenged")
  }
}
