import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Wallet calls with step-up: announced by header or in the body, approved once, performed once.
@Suite("Wallet operations", .mayBlock)
struct OperationTests {
  private static let sms: JSONValue = ["verification": ["method": "OTP", "channel": "SMS"]]
  private static let shown: JSONValue = [
    "operation": ["summary": "Pay", "amount": "120.00 EUR", "payee": "Bakery"]
  ]

  private let scene: PaysafeScene

  init() throws { scene = try PaysafeScene(signedIn: "alice") }

  @Test("what needs no SCA is answered at once, whatever the wallet says")
  func plain() throws {
    let balance = try scene.operate("GET", "/wallets/wlt_alice/balance")
    #expect(balance["status"] == "succeeded", "\(balance.text)")
    #expect(balance["result"]?["status"] == 200)
    #expect(balance["result"]?["body"]?["currency"] == "EUR")
    let small = try scene.pay("20.00")
    #expect(small["result"]?["status"] == 201)
    let foreign = try scene.operate("GET", "/wallets/wlt_bob/balance")
    #expect(foreign["status"] == "succeeded")
    #expect(foreign["result"]?["status"] == 404)
    #expect(foreign["result"]?["body"]?["error"]?["code"] == "WALLET_NOT_FOUND")
  }

  @Test(
    "trap 3: SCA is asked for by a 401 header or in the body; either way it is done once",
    arguments: ["header", "body"])
  func stepUp(announce: String) throws {
    try scene.set(["announce": .string(announce)])
    let flow = try scene.pay("120.00", Self.sms.merging(Self.shown))
    #expect(flow["state"] == "challenged", "\(flow.text)")
    #expect(flow.stepType == "enterCode")
    #expect(flow["step"]?["operation"] == Self.shown["operation"])
    #expect(try scene.performed("POST").isEmpty)
    let wrong = try scene.enter(scene.wrongCode(), to: flow)
    #expect(wrong.problem == "wrong_code")
    let end = try scene.enter(scene.code(), to: wrong)
    #expect(end["status"] == "succeeded", "\(end.text)")
    #expect(end["result"]?["status"] == 201)
    #expect(end["result"]?["body"]?["amount"] == "120.00")
    let performed = try scene.performed("POST")
    #expect(performed.count == 1)
    #expect(performed.first?["eventId"] == flow["key"])
  }

  @Test("a call without a body carries its approval in the header, however it was asked for")
  func withoutBody() throws {
    try scene.set(["announce": "body", "scaForReading": true])
    let flow = try scene.operate("GET", "/wallets/wlt_alice/balance", Self.sms)
    #expect(flow.stepType == "enterCode", "\(flow.text)")
    let end = try scene.enter(scene.code(), to: flow)
    #expect(end["result"]?["status"] == 200, "\(end.text)")
  }

  @Test("every method there is", arguments: ["PUT", "DELETE", "PATCH"])
  func methods(method: String) throws {
    let path = method == "PATCH" ? "/wallets/wlt_alice/limits" : "/wallets/wlt_alice/payees/p1"
    let body: JSONValue? =
      switch method {
      case "PUT": ["name": "Bakery", "iban": "DE02120300000000202051"]
      case "PATCH": ["single": "50.00"]
      default: nil
      }
    if method == "DELETE" {
      let put = try scene.operate(
        "PUT", path, body: ["name": "Bakery", "iban": "DE02120300000000202051"], Self.sms)
      #expect(try scene.enter(scene.code(), to: put)["status"] == "succeeded")
    }
    let flow = try scene.operate(method, path, body: body, Self.sms)
    let end = try scene.enter(scene.code(), to: flow)
    let status = try #require(end["result"]?["status"]?.integerValue, "\(end.text)")
    #expect((200..<300).contains(status))
    #expect(try scene.performed(method).count == 1)
  }

  @Test("trap 3: an expired token's 401 is no demand for SCA: it is renewed and asked again")
  func expiredToken() throws {
    try scene.sandbox.control("POST", "paysafe/endAccessTokens", [:])
    let balance = try scene.operate("GET", "/wallets/wlt_alice/balance")
    #expect(balance["status"] == "succeeded", "\(balance.text)")
    #expect(balance["result"]?["status"] == 200)
    #expect(try scene.requests("token", grantType: "refresh_token") == 1)
    #expect(try scene.requests("challenge") == 0)
  }

  @Test("a token that expires between challenge and retry is renewed; nothing is asked twice")
  func expiryInBetween() throws {
    let flow = try scene.pay("120.00", Self.sms)
    let code = try scene.code()
    try scene.sandbox.control("POST", "paysafe/endAccessTokens", [:])
    let end = try scene.enter(code, to: flow)
    #expect(end["result"]?["status"] == 201, "\(end.text)")
    #expect(try scene.performed("POST").count == 1)
    #expect(try scene.requests("token", grantType: "refresh_token") == 1)
    #expect(try scene.messages("sms") == 1)
  }

  @Test("where the grant is dead a new log-in is needed, and nothing was done")
  func deadGrant() throws {
    try scene.sandbox.control("POST", "paysafe/revokeAll", [:])
    let flow = try scene.pay("20.00")
    #expect(flow["status"] == "failed")
    #expect(flow.failure["reason"] == "provider_rejected", "\(flow.text)")
    #expect(try scene.performed().isEmpty)
  }

  @Test("two operations at once on one account: each its own event, each done once")
  func twoAtOnce() throws {
    let one = try scene.pay("120.00", Self.sms)
    let oneCode = try scene.code()
    let two = try scene.pay("130.00", Self.sms)
    let twoCode = try scene.code()
    #expect(one["key"] != two["key"])
    #expect(try scene.enter(twoCode, to: two)["result"]?["body"]?["amount"] == "130.00")
    #expect(try scene.enter(oneCode, to: one)["result"]?["body"]?["amount"] == "120.00")
    #expect(try scene.performed("POST").count == 2)
  }

  @Test("an approval is for one operation: a flow that was denied performs nothing")
  func denied() throws {
    let flow = try scene.pay("120.00", ["verification": ["method": "PUSH_NOTIFICATION"]], waitMs: 0)
    let waiting = try scene.moved(flow, "waits") { $0["state"] == "challenged" }
    try scene.decide(try #require(waiting["key"]?.stringValue), approve: false)
    let end = try scene.app.finished(waiting)
    #expect(end.failure["reason"] == "denied")
    #expect(try scene.performed("POST").isEmpty)
  }

  @Test(
    "paths that could lead elsewhere are refused",
    arguments: [
      "wallets", "//evil.example/x", "/wallets/../auth", "/wallets/%2e%2e/x", "/wallets//x",
      "http://evil.example/", "/wallets/a b", "/wallets/x#y", "/wallets\\x", "/wallets/%2Fx",
    ])
  func paths(path: String) throws {
    let reply = try scene.app.reply(
      to: "flow.start",
      [
        "provider": "paysafe", "kind": "operation",
        "params": ["method": "GET", "path": .string(path)],
      ])
    let data = reply["error"]?["data"]
    #expect(data?["reason"] == "invalid_params", "\(reply.text)")
    #expect(data?["field"] == "params.path")
  }

  @Test("what the provider's configuration does not list is permitted to nobody")
  func allowList() throws {
    let narrow = try PaysafeScene(
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

  @Test("a wallet that is down: a read is tried again, a payment is not repeated in the dark")
  func down() throws {
    try scene.spoil("balance", ["status": 503], times: 1)
    let balance = try scene.operate("GET", "/wallets/wlt_alice/balance")
    #expect(balance["result"]?["status"] == 200, "\(balance.text)")
    try scene.spoil("payment", ["reset": true], times: 1)
    let payment = try scene.pay("20.00")
    #expect(payment["status"] == "failed", "\(payment.text)")
    #expect(payment.failure["reason"] == "provider_unreachable")
    #expect(payment.failure["retryable"] == false)
    #expect(try scene.requests("payment") == 1)
  }
}

extension JSONValue {
  func merging(_ other: JSONValue) -> JSONValue {
    var merged = self
    for (name, value) in other.objectValue ?? [:] { merged[name] = value }
    return merged
  }
}
