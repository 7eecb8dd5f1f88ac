import JSONRPC
import Testing
import UsherTestKit

/// Bad input: each gets an error that names what was wrong, and costs the provider nothing.
@Suite("What an SCA flow refuses", .mayBlock)
struct SCARefusalTests {
  private let scene: PaysafeScene

  init() throws { scene = try PaysafeScene(signedIn: "alice") }

  @Test("what is missing, blank or impossible in the parameters is named, and nothing is asked")
  func parameters() throws {
    let good: JSONValue = ["eventId": "evt", "walletOperationId": "op"]
    let wrong: [(String, JSONValue, String)] = [
      ("eventId", .null, "eventId"), ("eventId", "", "eventId"), ("eventId", "  ", "eventId"),
      ("walletOperationId", .null, "walletOperationId"),
      ("walletOperationId", "\t", "walletOperationId"),
      ("verification", ["method": "PASSKEYS"], "verification"),
      ("verification", ["method": "SMOKE"], "verification"),
      ("verification", ["method": "OTP", "channel": "PIGEON"], "verification"),
      ("verification", ["method": "BIOMETRIC", "channel": "REDIRECT"], "returnUrl"),
      ("returnUrl", "javascript:alert(1)", "returnUrl"), ("returnUrl", "/back", "returnUrl"),
      ("returnUrl", "http://shop.example/back", "returnUrl"),
      ("stray", true, "stray"),
    ]
    for (name, value, field) in wrong {
      var params = good
      params[name] = value == .null ? nil : value
      let reply = try scene.app.reply(
        to: "flow.start", ["provider": "paysafe", "kind": "sca", "params": params])
      let data = reply["error"]?["data"]
      #expect(data?["reason"] == "invalid_params", "\(name) \(value): \(reply.text)")
      let named = data?["field"]?.stringValue ?? ""
      #expect(named.hasPrefix("params.\(field)"), "\(name) \(value): \(named)")
    }
    #expect(try scene.requests("challenge") + scene.requests("event") == 0)
  }

  @Test("a verification that is not among those available is refused")
  func unavailable() throws {
    let event = try scene.event(["availableVerifications": ["OTP.SMS", "OTP.EMAIL"]])
    let reply = try scene.app.reply(
      to: "flow.start",
      [
        "provider": "paysafe", "kind": "sca",
        "params": [
          "eventId": .string(event.id), "walletOperationId": .string(event.operation),
          "availableVerifications": [["method": "OTP", "channel": "SMS"]],
          "verification": ["method": "PIN"],
        ],
      ])
    #expect(reply["error"]?["data"]?["reason"] == "invalid_params", "\(reply.text)")
    // Where only the backend knows what is available, the person is asked.
    let flow = try scene.sca(event, ["verification": ["method": "PIN"]])
    #expect(flow.stepType == "choose", "\(flow.text)")
    #expect(flow.problem == "verification_unavailable")
  }

  @Test("codes that cannot be are refused and cost no attempt")
  func codes() throws {
    let event = try scene.event()
    let flow = try scene.sca(event, ["verification": ["method": "OTP", "channel": "SMS"]])
    for code in [
      "", "12345", "1234567", "12345a", "１２３４５６", " 123456 7",
      String(repeating: "1", count: 4000),
    ] {
      let refused = try scene.refusal(["type": "enterCode", "code": .string(code)], to: flow)
      #expect(refused.0 == "invalid_input", "\(code.prefix(20))")
      #expect(refused.1 == "input.code", "\(code.prefix(20))")
    }
    #expect(
      try scene.refusal(["type": "enterPassword", "password": "x"], to: flow).0
        == "unexpected_input")
    #expect(try scene.requests("attempt") == 0)
    #expect(try scene.enter(scene.code(), to: flow)["status"] == "succeeded")
  }

  @Test("an event that does not exist, or is somebody else's, fails the flow")
  func unknownEvent() throws {
    let bobs = try scene.event(user: "bob")
    for event in [bobs, (id: "evt_none", operation: "op_none")] {
      let flow = try scene.sca(event, ["verification": ["method": "OTP", "channel": "SMS"]])
      #expect(flow["status"] == "failed")
      #expect(flow.failure["reason"] == "provider_rejected")
      #expect(flow.failure["provider"]?["code"] == "SCA_EVENT_NOT_FOUND", "\(flow.text)")
    }
  }

  @Test("without an account there is nobody to authenticate; with two, one is named")
  func accounts() throws {
    let params: JSONValue = ["eventId": "evt", "walletOperationId": "op"]
    let start: JSONValue = ["provider": "paysafe", "kind": "sca", "params": params]
    try scene.signIn(user: "bob")
    let several = try scene.app.reply(to: "flow.start", start)["error"]?["data"]
    #expect(several?["reason"] == "invalid_params")
    #expect(several?["field"] == "params.account")
    for account in try scene.app.call("account.list")["accounts"]?.arrayValue ?? [] {
      _ = try scene.app.call("account.forget", ["account": account["id"] ?? .null])
    }
    let nobody = try scene.app.reply(to: "flow.start", start)["error"]?["data"]
    #expect(nobody?["reason"] == "interaction_required")
    #expect(nobody?["next"]?["params"]?["kind"] == "authorize", "\(nobody?.text ?? "")")
  }
}
