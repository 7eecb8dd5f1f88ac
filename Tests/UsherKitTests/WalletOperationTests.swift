import FoundationEssentials
import JSONRPC
import Testing
import UsherKit

@Suite("Wallet operations with UsherKit", .timeLimit(.minutes(10)))
struct WalletOperationTests {
  private let payment = Wallet.OperationRequest(
    method: "POST", path: "/wallets/w/payments", body: Data(#"{"amount":"5.00"}"#.utf8))

  private func start(_ more: [String: JSONValue] = [:]) -> JSONValue {
    let params: [String: JSONValue] = [
      "method": "POST", "path": "/wallets/w/payments", "body": ["amount": "5.00"],
      "approval": "caller",
    ]
    return PaysafeFlow.start("operation", .object(params.merging(more) { $1 }))
  }

  @Test("an operation that requires SCA is repeated with the scaDetails that solved the challenge")
  func repeated() async throws {
    let demand = #"""
      {"status":401,"body":null,"scaDetails":{"eventId":"e","walletOperationId":"w",\#
      "form":"header","availableVerifications":[{"method":"OTP","channel":"SMS"},\#
      {"method":"DANCE"},{"method":"OTP","channel":"SMOKE"}]}}
      """#
    let details: [String: JSONValue] = [
      "scaDetails": ["eventId": "e", "walletOperationId": "w", "form": "header"]
    ]
    try await wallet([
      .ask("flow.start", start(), PaysafeFlow.succeeded("operation", 2, result: demand)),
      .ask(
        "flow.start", start(details),
        PaysafeFlow.succeeded("operation", 2, result: #"{"status":201,"body":{"id":"p"}}"#)),
    ]) { wallet in
      guard case .scaRequired(let details, let verifications) = try await wallet.perform(payment)
      else {
        Issue.record("the operation did not require SCA")
        return
      }
      #expect(details.eventID == "e" && details.walletOperationID == "w")
      #expect(verifications == [SCAEvent.sms])
      var approved = payment
      approved.scaDetails = details
      let reply = try await wallet.perform(approved)
      #expect(reply == .completed(status: 201, body: Data(#"{"id":"p"}"#.utf8)))
    }
  }

  @Test("the scaDetails of a program that knows only the two ids are passed on")
  func ownDetails() async throws {
    let details: [String: JSONValue] = ["scaDetails": ["eventId": "e", "walletOperationId": "w"]]
    try await wallet([
      .ask(
        "flow.start", start(details),
        PaysafeFlow.succeeded("operation", 2, result: #"{"status":204,"body":null}"#))
    ]) { wallet in
      var approved = payment
      approved.scaDetails = .init(eventID: "e", walletOperationID: "w")
      let reply = try await wallet.perform(approved)
      #expect(reply == .completed(status: 204, body: nil))
    }
  }

  @Test("an operation tells a wallet that lists no verification from one that lists unknown ones")
  func unknownVerifications() async throws {
    for (list, expected) in [
      ("", nil), (#","availableVerifications":[{"method":"DANCE"}]"#, 0),
      (#","availableVerifications":[]"#, nil),
    ] as [(String, Int?)] {
      let demand = #"""
        {"status":401,"scaDetails":{"eventId":"e","walletOperationId":"w","form":"header"\#(list)}}
        """#
      try await wallet([
        .ask("flow.start", start(), PaysafeFlow.succeeded("operation", 2, result: demand))
      ]) { wallet in
        guard case .scaRequired(_, let verifications) = try await wallet.perform(payment) else {
          Issue.record("the operation does not require SCA")
          return
        }
        #expect(verifications?.count == expected)
      }
    }
  }

  @Test("an operation whose body is not a JSON object throws invalidRequest without a call")
  func wrongBody() async throws {
    for body in ["", "[1]", "{"] {
      let error = try await walletError([]) {
        try await $0.perform(.init(method: "POST", path: "/x", body: Data(body.utf8)))
      }
      #expect(error.caseName == "invalidRequest")
    }
  }
}
