import FoundationEssentials
import JSONRPC
import Testing
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Requests to a Paysafe wallet")
struct WalletCallTests {
  private let account = AccountID("acc_1")

  private func render(
    _ call: PaysafeCall, token: Secret? = Secret("access-secret"),
    settings: (inout PaysafeSettings) throws -> Void = { _ in }
  ) throws -> HTTPRequest {
    try call.render(
      RenderContext(
        provider: try Provider(DrivenPaysafeAuthorize.provider(settings))!,
        credential: Secret("client"),
        accessToken: token, transition: moment()))
  }

  private func header(_ name: String, _ request: HTTPRequest) -> [String] {
    request.headers.filter { $0.name == name }.map { $0.value.revealed() }
  }

  private func body(_ request: HTTPRequest) throws -> JSONValue? {
    try request.body.map { try JSONValue(parsing: $0.revealed()) }
  }

  private let base = "https://wallet.example.com/v1"

  @Test("a Paysafe challenge request has language, returnUrl and device as far as they are known")
  func challenge() throws {
    let plain = try render(.challenge(WalletReplies.event, .pin, .init()))
    #expect(plain.method == .post)
    #expect(plain.url == base + "/auth/sca/events/evt-1/challenges")
    #expect(header("Authorization", plain) == ["Bearer access-secret"])
    #expect(header("Content-Type", plain) == ["application/json"])
    #expect(
      try body(plain) == ["walletOperationId": "wop-1", "verification": ["method": "PIN"]])
    let whole = try render(
      .challenge(
        WalletReplies.event, .redirect,
        .init(language: "en", returnURL: WalletReplies.returnURL))
    ) { $0.appType = "WEB_APP" }
    #expect(
      try body(whole) == [
        "walletOperationId": "wop-1", "deviceInfo": ["appType": "WEB_APP"],
        "verification": [
          "method": "BIOMETRIC", "channel": "REDIRECT",
          "action": ["language": "en", "returnUrl": .string(WalletReplies.returnURL)],
        ],
      ])
  }

  @Test("a Paysafe attempt posts the typed value, and an event request is a GET without a body")
  func attempt() throws {
    let attempt = try render(.attempt(WalletReplies.event, .sms, value: Secret("12\"3")))
    #expect(attempt.method == .post)
    #expect(attempt.url == base + "/auth/sca/events/evt-1/attempts")
    #expect(
      try body(attempt) == [
        "walletOperationId": "wop-1", "verification": ["method": "OTP", "channel": "SMS"],
        "value": "12\"3",
      ])
    let event = try render(.event(WalletReplies.event))
    #expect(event.method == .get && event.body == nil)
    #expect(event.url == base + "/auth/sca/events/evt-1")
    #expect(header("Content-Type", event) == [])
    #expect(header("Authorization", event) == ["Bearer access-secret"])
  }

  @Test("an event id stays one segment of a Paysafe request's path, whatever it contains")
  func eventID() throws {
    for (id, segment) in [
      ("../x?y#z", "..%2Fx%3Fy%23z"), ("..", "%2E%2E"), ("a b/é", "a%20b%2F%C3%A9"),
    ] {
      let event = PaysafeCall.Event(account: account, id: id, walletOperationID: "w")
      #expect(try render(.event(event)).url == base + "/auth/sca/events/\(segment)")
    }
  }

  @Test("a Paysafe operation request has the caller's path and body, and no headers of the caller")
  func operation() throws {
    let get = try render(
      .operation(.init(method: .get, path: "/wallets/w?a=b"), account: account, approval: nil))
    #expect(get.method == .get && get.url == base + "/wallets/w?a=b" && get.body == nil)
    #expect(Set(get.headers.map(\.name)) == ["Accept", "Authorization"])
    let body: [String: JSONValue] = ["b": 1, "a": "é"]
    let put = try render(
      .operation(.init(method: .put, path: "/x", body: body), account: account, approval: nil))
    #expect(put.method == .put && put.body?.revealed() == #"{"a":"é","b":1}"#)
    #expect(Set(put.headers.map(\.name)) == ["Accept", "Content-Type", "Authorization"])
    for method in [HTTPRequest.Method.post, .patch, .delete] {
      let call = WalletOperation(method: method, path: "/x")
      #expect(try render(.operation(call, account: account, approval: nil)).method == method)
    }
  }

  @Test("a Paysafe operation request carries its approval in a header or in the body, as demanded")
  func approval() throws {
    let payment = WalletOperation(method: .post, path: "/x", body: ["amount": "1"])
    let details: JSONValue = ["eventId": "evt-1", "walletOperationId": "wop-1"]
    let byBody = try render(
      .operation(payment, account: account, approval: approval(.body)))
    #expect(try self.body(byBody) == ["amount": "1", "scaDetails": details])
    #expect(header("SCA-Authorization", byBody) == [])
    let byHeader = try render(
      .operation(payment, account: account, approval: approval(.header)))
    #expect(try self.body(byHeader) == ["amount": "1"])
    let encoded = Data((["scaDetails": details] as JSONValue).encoded()).base64EncodedString()
    #expect(header("SCA-Authorization", byHeader) == [encoded])
    let bodiless = try render(
      .operation(
        .init(method: .delete, path: "/x"), account: account, approval: approval(.body)))
    #expect(bodiless.body == nil && header("SCA-Authorization", bodiless) == [encoded])
  }

  private func approval(_ form: PaysafeCall.Approval.Form) -> PaysafeCall.Approval {
    .init(eventID: "evt-1", walletOperationID: "wop-1", form: form)
  }

  @Test(
    "every Paysafe wallet request names its account and is not rendered without an access token")
  func tokens() throws {
    let calls: [PaysafeCall] = [
      .challenge(WalletReplies.event, .sms, .init()), .event(WalletReplies.event),
      .attempt(WalletReplies.event, .sms, value: Secret("1")),
      .operation(.init(method: .get, path: "/x"), account: account, approval: nil),
    ]
    for call in calls {
      #expect(call.account == account)
      #expect(throws: UsherError.self) { try render(call, token: nil) }
    }
    #expect(calls.map(\.name) == ["challenge", "event", "attempt", "operation"])
  }

  @Test("the debug descriptions of a Paysafe attempt and of its request contain no secret")
  func secrecy() throws {
    let call = PaysafeCall.attempt(WalletReplies.event, .pin, value: Secret("canary-pin"))
    for text in [String(reflecting: call), String(reflecting: try render(call))] {
      #expect(!text.contains("canary-pin") && !text.contains("access-secret"))
    }
  }
}
