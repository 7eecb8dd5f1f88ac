import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Wallet calls with step-up: demanded by header or in the body, approved once, performed once.
@Suite("Paysafe wallet operations", .mayBlock, .timeLimit(.minutes(10)))
struct OperationTests {
  private static let sms: JSONValue = ["verification": ["method": "OTP", "channel": "SMS"]]
  private static let shown: JSONValue = [
    "operation": ["summary": "Pay", "amount": "120.00 EUR", "payee": "Bakery"]
  ]

  private let fixture: PaysafeFixture

  init() throws { fixture = try PaysafeFixture(signedIn: "alice") }

  @Test("a Paysafe wallet operation without SCA returns the wallet's HTTP status and body at once")
  func plain() throws {
    let balance = try fixture.operate("GET", "/wallets/wlt_alice/balance")
    #expect(balance["status"] == "succeeded", "\(balance.text)")
    #expect(balance["result"]?["status"] == 200)
    #expect(balance["result"]?["body"]?["currency"] == "EUR")
    let small = try fixture.pay("20.00")
    #expect(small["result"]?["status"] == 201)
    let foreign = try fixture.operate("GET", "/wallets/wlt_bob/balance")
    #expect(foreign["status"] == "succeeded")
    #expect(foreign["result"]?["status"] == 404)
    #expect(foreign["result"]?["body"]?["error"]?["code"] == "WALLET_NOT_FOUND")
  }

  @Test(
    "a Paysafe payment that demands SCA by 401 header or body is made once (trap 3)",
    arguments: ["header", "body"])
  func stepUp(announce: String) throws {
    try fixture.set(["announce": .string(announce)])
    let flow = try fixture.pay("120.00", Self.sms.merging(Self.shown))
    #expect(flow["state"] == "challenged", "\(flow.text)")
    #expect(flow.stepType == "enterCode")
    #expect(flow["step"]?["operation"] == Self.shown["operation"])
    #expect(try fixture.performed("POST").isEmpty)
    let wrong = try fixture.enter(fixture.wrongCode(), to: flow)
    #expect(wrong.problem == "wrong_code")
    let end = try fixture.enter(fixture.code(), to: wrong)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["status"] == 201)
    #expect(end["result"]?["body"]?["amount"] == "120.00")
    let performed = try fixture.performed("POST")
    #expect(performed.count == 1)
    #expect(performed.first?["eventId"] == flow["key"])
  }

  @Test("a 401 of Paysafe for an expired token renews the token and is no demand for SCA (trap 3)")
  func expiredToken() throws {
    try fixture.sandbox.control("POST", "paysafe/endAccessTokens", [:])
    let balance = try fixture.operate("GET", "/wallets/wlt_alice/balance")
    #expect(balance["status"] == "succeeded", "\(balance.text)")
    #expect(balance["result"]?["status"] == 200)
    #expect(try fixture.requests("token", grantType: "refresh_token") == 1)
    #expect(try fixture.requests("challenge") == 0)
  }

  @Test("a Paysafe wallet operation that the configuration does not list is refused")
  func allowList() throws {
    let narrow = try PaysafeFixture(
      provider: "", more: "", operations: "[\"GET:/wallets/*/balance\"]", signedIn: "alice")
    #expect(try narrow.operate("GET", "/wallets/wlt_alice/balance")["status"] == "succeeded")
    let reply = try narrow.app.reply(
      to: "flow.start",
      [
        "provider": "paysafe", "kind": "operation",
        "params": [
          "method": "POST", "path": "/wallets/wlt_alice/payments",
          "body": ["amount": "1.00", "currency": "EUR", "payee": "Bakery"],
        ],
      ])
    #expect(reply["error"]?["data"]?["reason"] == "permission_denied", "\(reply.text)")
    #expect(try narrow.requests("payment") == 0)
  }

  @Test("a Paysafe payment whose answer is lost is not made again")
  func down() throws {
    try fixture.spoil("payment", ["reset": true], times: 1)
    let payment = try fixture.pay("20.00")
    #expect(payment["status"] == "failed", "\(payment.text)")
    #expect(payment.failure["reason"] == "provider_unreachable")
    #expect(payment.failure["retryable"] == false)
    #expect(try fixture.requests("payment") == 1)
  }
}

extension JSONValue {
  func merging(_ other: JSONValue) -> JSONValue {
    var merged = self
    for (name, value) in other.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
