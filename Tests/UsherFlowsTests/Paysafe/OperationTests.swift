import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

// Flows in the states that most tests need.
extension DrivenOperation {
  static func get() throws -> DrivenOperation {
    try DrivenOperation(.init(method: "GET", path: "/wallets/w"))
  }

  static func payment(
    wanting verification: PaysafeCall.Verification? = .sms,
    _ change: (inout PaysafeOperation.Params) -> Void = { _ in }
  ) throws -> DrivenOperation {
    var params = PaysafeOperation.Params(
      method: "POST", path: "/wallets/w/payments", body: ["amount": "120.00", "tip": 0.5])
    params.operation = Operation(summary: "Pay", amount: "120.00 EUR", payee: "Bakery")
    params.verification = verification
    change(&params)
    return try DrivenOperation(params)
  }

  /// The operation that the last answer calls, with its approval.
  var operationCall: (WalletOperation, PaysafeCall.Approval?)? {
    if case .operation(let operation, _, let approval)? = calls.first {
      (operation, approval)
    } else {
      nil
    }
  }
}

@Suite("Calls of Paysafe operation")
struct OperationTests {
  @Test("a Paysafe operation that needs no SCA completes with the wallet's reply")
  func plain() throws {
    var driven = try DrivenOperation.payment()
    #expect(driven.state == "performing")
    #expect(driven.flow.view.step.kind == .wait && driven.flow.view.key == nil)
    let operation = WalletOperation(
      method: .post, path: "/wallets/w/payments", body: ["amount": "120.00", "tip": 0.5])
    #expect(
      driven.calls == [.operation(operation, account: AccountID("acc_1"), approval: nil)])
    driven.answer(reply(["paymentId": "p-1"], status: 201))
    #expect(driven.result == ["status": 201, "body": ["paymentId": "p-1"]])
  }

  @Test("a Paysafe operation completes with any reply that demands no SCA, whatever its status")
  func answers() throws {
    let answers: [(HTTPReply, JSONValue)] = [
      (reply(["error": ["code": "X"]], status: 404), ["error": ["code": "X"]]),
      (reply([1, "x"], status: 200), [1, "x"]), (reply(text: "", status: 204), nil),
      (reply(text: "<html>", status: 403), nil), (reply("text", status: 200), "text"),
      (reply(["scaDetails": nil], status: 200), ["scaDetails": nil]),
      (reply([:], status: 401), [:]),
    ]
    for (answer, body) in answers {
      var driven = try DrivenOperation.payment()
      driven.answer(answer)
      #expect(driven.result == ["status": .integer(Int64(answer.status)), "body": body])
    }
  }

  @Test(
    "an unreadable JSON reply fails a Paysafe operation, and the outcome of a write is not known")
  func unreadable() throws {
    for type in ["application/json", "application/json; charset=utf-8", "application/hal+json"] {
      var answer = reply(text: #"{"scaDetails":{"eventId":"e"},"n":1e999}"#, status: 200)
      answer.headers["content-type"] = type
      var payment = try DrivenOperation.payment()
      payment.answer(answer)
      #expect(payment.failure?.reason == .providerProtocolError)
      #expect(payment.failure?.message.contains("not known") == true)
      var read = try DrivenOperation.get()
      read.answer(answer)
      #expect(read.failure?.reason == .providerProtocolError)
      #expect(read.failure?.message.contains("not known") == false)
    }
  }

  @Test("the outcome of a Paysafe payment is unknown only while its call is in progress")
  func inTheDark() throws {
    var payment = try DrivenOperation.payment()
    #expect(payment.flow.isOutcomeUnknown)
    payment.answer(WalletReplies.unsent)
    #expect(!payment.flow.isOutcomeUnknown)
    payment.receive(.woken)
    #expect(payment.flow.isOutcomeUnknown)
    #expect(try !DrivenOperation.get().flow.isOutcomeUnknown)
  }

  @Test(
    "a Paysafe flow reports that an SMS may have been sent while the SMS request is in progress")
  func messageUnderWay() throws {
    var sca = try DrivenSCA(wanting: .sms)
    #expect(
      sca.flow.isOutcomeUnknown
        && sca.flow.unknownOutcome == "an SMS may have been sent all the same")
    sca.answer(WalletReplies.gone)
    #expect(sca.flow.isOutcomeUnknown)
    sca.receive(.woken)
    #expect(sca.flow.isOutcomeUnknown)
    sca.answer(
      WalletReplies.standing(
        "PENDING", ["challenge": WalletReplies.open(["method": "OTP", "channel": "SMS"])]))
    #expect(!sca.flow.isOutcomeUnknown)
    sca.enter()
    #expect(!sca.flow.isOutcomeUnknown)
    var unsent = try DrivenSCA(wanting: .sms)
    unsent.answer(WalletReplies.unsent)
    #expect(!unsent.flow.isOutcomeUnknown)
    #expect(try !DrivenSCA(wanting: .pin).flow.isOutcomeUnknown)
    var payment = try DrivenOperation.payment()
    #expect(payment.flow.unknownOutcome == "whether the operation was performed is not known")
    payment.answer(SCADemandTests.byHeader)
    while payment.choice != nil { payment.submit(.choice("OTP.SMS")) }
    #expect(payment.flow.isOutcomeUnknown)
    #expect(payment.flow.unknownOutcome == "an SMS may have been sent all the same")
  }

  @Test(
    "a Paysafe payment answered with 408 or 1xx may have been performed and is not repeated",
    arguments: [100, 101, 408])
  func unknownStatus(status: Int) throws {
    var payment = try DrivenOperation.payment()
    payment.answer(reply(text: "", status: status))
    #expect(payment.failure?.reason == .providerUnreachable)
    #expect(payment.failure?.retryable == false)
    #expect(payment.failure?.message.contains("not known") == true)
    var read = try DrivenOperation.get()
    read.answer(reply(text: "", status: status))
    #expect(read.wake == .seconds(1))
  }

  @Test("a GET of Paysafe operation is repeated after 1, 2, 4, 8 and 16 seconds, then fails")
  func reads() throws {
    for outcome in [
      WalletReplies.gone, WalletReplies.unsent, .reply(reply(text: "", status: 500)),
      .reply(reply(text: "", status: 503)), .reply(reply(text: "", status: 429)),
    ] {
      var driven = try DrivenOperation.get()
      driven.waitOutFive(outcome)
      driven.answer(outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
    }
  }

  @Test("a GET of Paysafe operation waits as long as Retry-After says")
  func retryAfter() throws {
    for status in [429, 503] {
      var driven = try DrivenOperation.get()
      driven.answer(reply(text: "", status: status, headers: ["retry-after": "20"]))
      #expect(driven.wake == .seconds(20) && driven.problem?.retryAfterMs == 20_000)
      driven.receive(.woken)
      driven.answer(reply([:]))
      #expect(driven.result?["status"] == 200)
    }
  }

  @Test("a Paysafe write that may have been performed is not repeated, and the failure says so")
  func writes() throws {
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
      for (outcome, reason) in [
        (WalletReplies.gone, .providerUnreachable),
        (.reply(reply(text: "", status: 500)), .providerUnreachable),
        (.reply(reply(text: "", status: 503, headers: ["retry-after": "1"])), .providerUnreachable),
        (.unreadable(message: "a redirect"), .providerProtocolError),
      ] as [(CallOutcome, Failure.Reason)] {
        var driven = try DrivenOperation(.init(method: method, path: "/x")) {
          $0.operations = [try .init(setting: "*:/x")]
        }
        driven.answer(outcome)
        #expect(driven.failure?.reason == reason)
        #expect(driven.failure?.message.hasSuffix("is not known") == true)
        #expect(driven.failure?.retryable == false)
      }
    }
  }

  @Test("a Paysafe payment that was not sent or was refused with 429 is repeated")
  func unsent() throws {
    for outcome in [WalletReplies.unsent, .reply(reply(text: "", status: 429))] {
      var driven = try DrivenOperation.payment()
      driven.answer(outcome)
      #expect(driven.wake == .seconds(1))
      driven.receive(.woken)
      #expect(driven.operationCall?.0.method == .post)
      driven.answer(reply([:], status: 201))
      #expect(driven.result?["status"] == 201)
    }
  }

  @Test("an unreadable reply or a missing access token ends a Paysafe operation")
  func ends() throws {
    var driven = try DrivenOperation.get()
    driven.answer(.unreadable(message: "larger than 1 MiB"))
    #expect(driven.failure == .protocolError("larger than 1 MiB"))
    driven = try DrivenOperation.payment()
    driven.answer(.noToken(message: "dead"))
    #expect(
      driven.failure?.reason == .reauthenticationRequired && driven.failure?.retryable == true)
    #expect(driven.failure?.message.contains("log-in") == true)
  }

  @Test("a restored Paysafe operation repeats a GET, but fails for a write that was in progress")
  func restarts() throws {
    var read = try DrivenOperation.get()
    try read.restart()
    #expect(read.operationCall != nil)
    var write = try DrivenOperation.payment()
    var paused = write
    try write.restart()
    #expect(write.failure?.reason == .providerUnreachable)
    #expect(write.failure?.retryable == false)
    #expect(write.failure?.message.contains("restarted") == true)
    // Between two tries no call is in progress, so the write may be repeated.
    paused.answer(WalletReplies.unsent)
    try paused.restart()
    #expect(paused.operationCall?.0.method == .post)
  }

  @Test("the numbers in the body of a Paysafe operation are the same after a restart")
  func numbers() throws {
    var driven = try DrivenOperation.payment {
      $0.body = ["a": 1.0, "b": [2.5, ["c": -0.0, "d": 1.5e15, "e": 9_007_199_254_740_993]]]
    }
    let first = try #require(driven.operationCall?.0)
    driven.answer(WalletReplies.unsent)
    try driven.restart()
    #expect(driven.operationCall?.0 == first)
    #expect(first.body?["a"] == 1)
  }

  @Test("a Paysafe operation ignores replies to other calls")
  func unrelatedEvents() throws {
    var driven = try DrivenOperation.payment()
    let account = AccountID("acc_1")
    let other = WalletOperation(method: .post, path: "/wallets/w/payments", body: ["amount": "1"])
    for call in [
      PaysafeCall.operation(other, account: account, approval: nil),
      .operation(
        try #require(driven.operationCall?.0), account: account,
        approval: .init(eventID: "evt-1", walletOperationID: "wop-1", form: .header)),
      .event(WalletReplies.event),
    ] {
      #expect(driven.receive(.called(call, .reply(reply([:])))) == .ignore)
    }
  }
}
