import Foundation
import Testing

@testable import UsherSandbox

@Suite("Wallet of the Paysafe fake")
struct PaysafeWalletTests {
  @Test("a payment over the SCA threshold is announced by header and performed once by its retry")
  func header() async throws {
    let bank = try Bank()
    let customer = try await bank.customer()
    let asked = try await customer.pay("100.01")
    #expect(asked.status == 401)
    #expect(try asked.refusal() == "SCA_REQUIRED")
    let event = try customer.event(announcedBy: asked)
    #expect(event.details["authenticationMode"] == "EMBEDDED")
    #expect(event.details["expirationTime"] == "2027-01-15T08:15:00Z")
    #expect(try await customer.pay("100.01", headers: event.proofHeader).status == 403)
    try await event.verifyByPIN()
    let done = try await customer.pay("100.01", headers: event.proofHeader)
    #expect(done.status == 201)
    #expect(try done.json()["walletOperationId"] == .string(event.walletOperationID))
    let again = try await customer.pay("100.01", headers: event.proofHeader)
    #expect(try again.refusal() == "SCA_MISMATCH")
    let made = try await bank.control(.get, "operations")
    guard case .array(let operations)? = made["operations"] else {
      Issue.record("the reply has no list of operations: \(made)")
      return
    }
    try #require(operations.count == 1)
    #expect(operations[0]["eventId"] == .string(event.id))
    #expect(operations[0]["method"] == "POST")
    #expect(operations[0]["path"] == "/paysafe/wallets/wlt_alice/payments")
    #expect(operations[0]["body"]?["scaDetails"] == nil)
  }

  @Test("a wallet call without a body sends its SCA proof in the header, even if announced by body")
  func bodyless() async throws {
    let bank = try Bank()
    try await bank.set(["announce": "body", "scaForReading": true])
    let customer = try await bank.customer()
    let path = "/wallets/wlt_alice/balance"
    let event = try customer.event(announcedBy: try await customer.send(.get, path))
    try await event.verifyByPIN()
    #expect(try await customer.send(.get, path, headers: event.proofHeader).status == 200)
    #expect(try await customer.send(.get, path, headers: event.proofHeader).status == 403)
  }

  @Test("an SCA proof permits no other amount, payee, customer or event")
  func mismatches() async throws {
    let bank = try Bank()
    let customer = try await bank.customer()
    let event = try customer.event(announcedBy: try await customer.pay("150.00"))
    try await event.verifyByPIN()
    let proof = event.proofHeader
    #expect(try await customer.pay("150.01", headers: proof).refusal() == "SCA_MISMATCH")
    #expect(try await customer.pay("150.00", to: "Eve", headers: proof).status == 403)
    #expect(try await customer.pay("1.00", headers: proof).refusal() == "SCA_MISMATCH")
    let bob = try await bank.customer("bob")
    #expect(try await bob.pay("150.00", headers: proof).refusal() == "SCA_MISMATCH")
    let other = try await customer.event()
    try await other.verifyByPIN()
    #expect(try await customer.pay("150.00", headers: other.proofHeader).status == 403)
    let mixed = try Event(
      customer,
      ["eventId": .string(event.id), "walletOperationId": .string(other.walletOperationID)])
    #expect(try await customer.pay("150.00", headers: mixed.proofHeader).status == 403)
    let unknown = try Event(customer, ["eventId": "evt_x", "walletOperationId": "wop_x"])
    #expect(try await customer.pay("150.00", headers: unknown.proofHeader).status == 403)
    #expect(try await bank.control(.get, "operations") == ["operations": []])
    #expect(try await customer.pay("150.00", headers: proof).status == 201)
  }

  @Test("a malformed SCA-Authorization header is refused as INVALID_REQUEST")
  func unreadableProofs() async throws {
    let customer = try await Bank().customer()
    for text in ["", "x", "e30=", Data("[]".utf8).base64EncodedString()] {
      let reply = try await customer.pay("150.00", headers: ["sca-authorization": text])
      #expect(try reply.refusal() == "INVALID_REQUEST")
    }
  }

  @Test("payees and limits of a wallet change only after SCA, unless a setting turns it off")
  func changes() async throws {
    let bank = try Bank()
    let customer = try await bank.customer()
    func approved(_ method: Endpoint.Method, _ path: String, _ json: JSON? = nil) async throws
      -> Reply
    {
      let asked = try await customer.send(method, "/wallets/wlt_alice/\(path)", json)
      #expect(asked.status == 401)
      let event = try customer.event(announcedBy: asked)
      try await event.verifyByPIN()
      return try await customer.send(
        method, "/wallets/wlt_alice/\(path)", json, headers: event.proofHeader)
    }
    let payee: JSON = ["name": "Books", "iban": "GB33BUKB20201555555555"]
    #expect(try await approved(.put, "payees/p1", payee).json()["payeeId"] == "p1")
    let list = try await customer.send(.get, "/wallets/wlt_alice/payees").json()
    #expect(
      list == [
        "payees": [["payeeId": "p1", "name": "Books", "iban": "GB33BUKB20201555555555"]]
      ])
    #expect(try await approved(.patch, "limits", ["single": "50.00"]).json()["single"] == "50.00")
    let over = try await customer.pay("50.01")
    #expect(try over.refusal() == "LIMIT_EXCEEDED")
    let removed = try await approved(.delete, "payees/p1")
    #expect(removed.status == 204)
    #expect(removed.body.isEmpty)
    let gone = try await customer.send(.delete, "/wallets/wlt_alice/payees/p1")
    #expect(try gone.refusal() == "PAYEE_NOT_FOUND")
    try await bank.set(["scaForChanges": false])
    #expect(
      try await customer.send(.put, "/wallets/wlt_alice/payees/p2", payee).status == 200)
  }

  @Test("a payment over the limits or over the wallet's balance is refused")
  func funds() async throws {
    let bank = try Bank()
    try await bank.set(["scaAmount": 100_000])
    let customer = try await bank.customer()
    #expect(try await customer.pay("1000.01").refusal() == "LIMIT_EXCEEDED")
    #expect(try await customer.pay("1000.00").status == 201)
    #expect(try await customer.pay("0.01").refusal() == "INSUFFICIENT_FUNDS")
    var wallets = Wallets(Users(), tokenGenerator: TokenGenerator())
    let user = Users.standard[0]
    _ = try wallets.perform(
      .setLimits(daily: Amount(cents: 100), single: nil), "wlt_alice", of: user,
      walletOperationID: nil, now: start)
    let order = WalletRequest.pay(.init(amount: Amount(cents: 60), payee: "x"))
    _ = try wallets.perform(order, "wlt_alice", of: user, walletOperationID: nil, now: start)
    func code(_ now: Date) -> String? {
      do throws(WalletRefusal) {
        try wallets.check(order, "wlt_alice", of: user, now: now)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(code(start.addingTimeInterval(86_399)) == "LIMIT_EXCEEDED")
    #expect(code(start.addingTimeInterval(86_401)) == nil)
  }

  @Test(
    "an invalid payment request is refused as INVALID_REQUEST and creates no SCA event",
    arguments: [
      [:], ["amount": "150.00", "currency": "EUR"],
      ["amount": "0", "currency": "EUR", "payee": "x"],
      ["amount": "150.00", "currency": "USD", "payee": "x"],
      ["amount": "1.234", "currency": "EUR", "payee": "x"],
      ["amount": "150.00", "currency": "EUR", "payee": ""],
      ["amount": "150.00", "currency": "EUR", "payee": "x", "note": "y"],
    ] as [JSON])
  func badPayments(_ body: JSON) async throws {
    let bank = try Bank()
    let customer = try await bank.customer()
    let reply = try await customer.send(.post, "/wallets/wlt_alice/payments", body)
    #expect(reply.status == 400)
    #expect(try reply.refusal() == "INVALID_REQUEST")
    #expect(try await bank.control(.get, "events") == ["events": []])
  }
}
