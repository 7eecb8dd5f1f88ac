import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// The app has the customer approve the operation, as with the SDK.
@Suite("Paysafe operations whose caller has the customer approve")
struct OperationByCallerTests {
  private func payment(
    _ details: PaysafeOperation.ApprovedEvent? = nil
  ) throws -> DrivenOperation {
    try DrivenOperation.payment {
      $0.approval = .caller
      $0.scaDetails = details
    }
  }

  @Test("a demand for SCA ends the operation with the wallet's reply and the demand as its result")
  func demanded() throws {
    var driven = try payment()
    driven.answer(SCADemandTests.byHeader)
    #expect(driven.calls.isEmpty && driven.result?["status"] == 401)
    let details = try #require(driven.result?["scaDetails"])
    #expect(details["eventId"] == "evt-1" && details["walletOperationId"] == "wop-1")
    #expect(details["form"] == "header")
    #expect(
      details["availableVerifications"] == [
        ["method": "OTP", "channel": "SMS", "target": "+44 ••• 123"], ["method": "PIN"],
      ])
  }

  @Test("the first call carries the caller's own scaDetails where the wallet expects them")
  func approved() throws {
    for form in [nil, PaysafeCall.Approval.Form.header] {
      var driven = try payment(.init(eventId: "evt-9", walletOperationId: "wop-9", form: form))
      #expect(
        driven.operationCall?.1
          == .init(eventID: "evt-9", walletOperationID: "wop-9", form: form ?? .body))
      driven.answer(reply(["id": "p"], status: 201))
      #expect(driven.result == ["status": 201, "body": ["id": "p"]])
    }
  }

  @Test("a wallet that does not accept the caller's scaDetails ends the operation with its demand")
  func notAccepted() throws {
    var driven = try payment(.init(eventId: "evt-1", walletOperationId: "wop-1"))
    driven.answer(SCADemandTests.byHeader)
    // The wallet expects the approval in the header, where the two ids go next.
    #expect(driven.operationCall?.1?.form == .header && driven.result == nil)
    driven.answer(SCADemandTests.byHeader)
    #expect(driven.result?["scaDetails"]?["eventId"] == "evt-1")
  }

  @Test("a payment with the caller's scaDetails is not repeated if its reply is lost")
  func lost() throws {
    var driven = try payment(.init(eventId: "evt-1", walletOperationId: "wop-1"))
    driven.answer(WalletReplies.gone)
    #expect(driven.failure?.retryable == false)
  }

  @Test("scaDetails that no event can have are refused by their field")
  func wrong() throws {
    for (event, operation, field) in [
      ("", "w", "params.scaDetails.eventId"), ("e", "..", "params.scaDetails.walletOperationId"),
    ] {
      let error = #expect(throws: UsherError.self) {
        try payment(.init(eventId: event, walletOperationId: operation))
      }
      #expect(error?.detail.field == field)
    }
  }
}
