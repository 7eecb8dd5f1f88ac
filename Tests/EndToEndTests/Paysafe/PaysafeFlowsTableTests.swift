import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The SDK's calls and the daemon's flows, as the documentation's page Paysafe lists them.
@Suite("Documented flow of Paysafe: authorize", .mayBlock, .timeLimit(.minutes(10)))
struct PaysafeAuthorizeRowTests {
  private func query(_ url: String) -> [String: String] {
    let items = URLComponents(string: url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
  }

  @Test("Paysafe authorize begins with an openURL step whose URL has the params of flow.start")
  func details() throws {
    let fixture = try PaysafeFixture()
    let flow = try fixture.app.startFlow(
      "paysafe", "authorize",
      params: [
        "brandIdentity": "acme", "resetCredentialsURL": "https://acme.example/reset",
        "locale": "en-GB", "loginHint": "alice", "loginStrategy": "pin",
      ])
    #expect(flow.stepType == "openURL")
    #expect(flow["step"]?["completes"] == "loopback")
    let asked = query(flow.url)
    #expect(flow.url.contains("/paysafe/auth/brands/acme/authorize?"))
    #expect(asked["response_type"] == "code")
    #expect(asked["client_id"] == "acme-wallet")
    #expect(asked["reset_credentials_url"] == "https://acme.example/reset")
    #expect(asked["locale"] == "en-GB")
    #expect(asked["login_hint"] == "alice")
    #expect(asked["login_strategy"] == "PIN")
    #expect(asked["redirect_uri"] == flow["step"]?["redirectURI"]?.stringValue)
  }

  @Test("Paysafe authorize passes a caller's state and codeChallenge through and shows no verifier")
  func passedThrough() throws {
    let fixture = try PaysafeFixture()
    let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    let flow = try fixture.app.startFlow(
      "paysafe", "authorize",
      params: [
        "state": "the-caller's-own-state", "codeChallenge": .string(challenge),
        "redirectURI": "https://partner.example/wallet/callback",
      ])
    #expect(flow["step"]?["completes"] == "submit")
    #expect(query(flow.url)["state"] == "the-caller's-own-state")
    #expect(query(flow.url)["code_challenge"] == challenge)
    let back = try #require(try Customer.decide(at: flow.url).location)
    let exchange = try fixture.submit(
      ["type": "openURL", "redirectURL": .string(back)], to: flow)
    #expect(exchange.stepType == "exchangeCredential", "\(exchange.text)")
    #expect(exchange["step"]?["codeVerifier"] == nil)
    #expect(exchange["step"]?["credential"]?["type"] == "authCode")
    #expect(
      exchange["step"]?["credential"]?["code"]?.stringValue == query(back)["code"])
    // The caller exchanges the code, with the verifier of RFC 7636, appendix B.
    let granted = try Partner.exchange(
      fixture.sandbox, code: query(back)["code"] ?? "",
      redirectURI: "https://partner.example/wallet/callback",
      verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
    let end = try fixture.submit(
      [
        "type": "exchangeCredential",
        "success": ["accessToken": granted["access_token"] ?? .null, "expiresIn": "900"],
      ], to: exchange)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let token = try fixture.app.call("token.get", ["provider": "paysafe"])
    #expect(token["accessToken"] == granted["access_token"])
  }

  @Test("Paysafe authorize completes by the loopback listener or by a submitted redirect URL")
  func returnLegs() throws {
    let fixture = try PaysafeFixture()
    #expect(try fixture.signIn()["status"] == "succeeded")
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    let back = try #require(try Customer.decide(at: flow.url, user: "bob").location)
    let pasted = try fixture.submit(
      ["type": "openURL", "redirectURL": .string(back)], to: flow)
    #expect(pasted["status"] == "succeeded", "\(pasted.text)")
  }

  @Test("a redirect with a wrong state is refused and never touches the Paysafe authorize flow")
  func wrongState() throws {
    let fixture = try PaysafeFixture()
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    let back = try #require(try Customer.decide(at: flow.url).location)
    let forged = back.replacing(/state=[^&]*/, with: "state=somebody-else's")
    #expect(try Web.get(forged).status >= 400)
    #expect(
      try fixture.refusal(["type": "openURL", "redirectURL": .string(forged)], to: flow)
        == ("invalid_input", "input.redirectURL"))
    #expect(try fixture.flow(flow) == flow)
    _ = try Web.get(back)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }

  @Test("a denial at the log-in page fails Paysafe authorize with the OAuth code access_denied")
  func denied() throws {
    let fixture = try PaysafeFixture()
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    try Customer.signIn(at: flow.url, allow: false)
    let end = try fixture.app.finished(flow)
    #expect(end.failure["reason"] == "denied")
    #expect(end.failure["provider"]?["code"] == "access_denied")
  }

  @Test(
    "with exchange app, Paysafe authorize shows code and verifier and takes the partner's tokens")
  func byApp() throws {
    let fixture = try PaysafeFixture(provider: "exchange = \"app\"")
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    try Customer.signIn(at: flow.url)
    let exchange = try fixture.moved(flow, "wants an exchange") {
      $0.stepType == "exchangeCredential"
    }
    let step = try #require(exchange["step"])
    let granted = try Partner.exchange(
      fixture.sandbox, code: step["credential"]?["code"]?.stringValue ?? "",
      redirectURI: step["redirectURI"]?.stringValue ?? "",
      verifier: step["codeVerifier"]?.stringValue ?? "")
    let success: JSONValue = [
      "accessToken": granted["access_token"] ?? .null, "expiresIn": "900",
      "refreshToken": granted["refresh_token"] ?? .null,
    ]
    let end = try fixture.submit(
      ["type": "exchangeCredential", "success": success], to: exchange)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let fresh = try fixture.app.call("token.get", ["provider": "paysafe", "forceRefresh": true])
    #expect(fresh["accessToken"] != granted["access_token"])
    // A second exchange answer is refused.
    #expect(
      try fixture.refusal(["type": "exchangeCredential", "success": success], to: end).0
        == "flow_finished")
  }

  @Test("the URL of Paysafe authorize has the digital fingerprint of a config token")
  func fingerprint() throws {
    let fixture = try PaysafeFixture()
    try fixture.set(["requireDigitalFingerprint": true])
    let flow = try fixture.app.startFlow("paysafe", "authorize")
    #expect(query(flow.url)["digital_fingerprint"]?.isEmpty == false)
    #expect(try fixture.requests("token", grantType: "client_credentials") == 1)
    try Customer.signIn(at: flow.url)
    #expect(try fixture.app.finished(flow)["status"] == "succeeded")
  }
}

@Suite("Documented flows of Paysafe: sca and operation", .mayBlock, .timeLimit(.minutes(10)))
struct PaysafeSCARowTests {
  @Test(
    "a Paysafe sca flow lets the customer choose a method, resends the challenge and is VERIFIED")
  func rows() throws {
    let fixture = try PaysafeFixture(signedIn: "alice")
    let event = try fixture.event()
    let choice = try fixture.sca(event)
    #expect(choice.stepType == "choose")
    let challenged = try fixture.submit(["type": "choose", "id": "OTP.SMS"], to: choice)
    #expect(challenged.stepType == "enterCode")
    let resent = try fixture.resend(challenged)
    #expect(try fixture.event(event.id)["currentChallenges"] == 2)
    let end = try fixture.enter(fixture.code(), to: resent)
    // The result is the `scaDetails` with which the caller repeats its wallet call.
    #expect(end["result"]?["eventId"] == .string(event.id))
    #expect(end["result"]?["walletOperationId"] == .string(event.operation))
    #expect(end["result"]?["status"] == "VERIFIED")
    let states = try fixture.app.call(
      "flow.wait", ["flow": end["id"] ?? .null, "revision": 0, "timeoutMs": 0])["transitions"]
    let words = states?.arrayValue?.compactMap { $0["state"]?.stringValue } ?? []
    #expect(words.first == "required")
    #expect(words.contains("attempting"))
  }

  @Test("a Paysafe sca flow with the method PASSKEYS is refused as invalid params")
  func passkeys() throws {
    let fixture = try PaysafeFixture(signedIn: "alice")
    let reply = try fixture.app.reply(
      to: "flow.start",
      [
        "provider": "paysafe", "kind": "sca",
        "params": [
          "eventId": "e", "walletOperationId": "w", "verification": ["method": "PASSKEYS"],
        ],
      ])
    #expect(reply["error"]?["code"] == -32602, "\(reply.text)")
  }

  @Test("a Paysafe operation that demands SCA is performed after its step-up, returns the status")
  func operation() throws {
    let fixture = try PaysafeFixture(signedIn: "alice")
    let flow = try fixture.pay(
      "120.00",
      ["operation": ["summary": "Pay the bakery", "amount": "120.00 EUR", "payee": "Bakery"]])
    #expect(flow.stepType == "choose", "\(flow.text)")
    #expect(flow["step"]?["operation"]?["payee"] == "Bakery")
    let challenged = try fixture.submit(["type": "choose", "id": "PIN"], to: flow)
    #expect(challenged["step"]?["operation"]?["amount"] == "120.00 EUR")
    let end = try fixture.submit(["type": "enterPassword", "password": "2468"], to: challenged)
    #expect(end["result"]?["status"] == 201, "\(end.text)")
  }

  @Test("a client rule can narrow the Paysafe wallet operations of its client")
  func rule() throws {
    let fixture = try PaysafeFixture(
      more: """
        [[client]]
        name = "reader"
        match = { user = \(getuid()) }
        allow = [
          "flow.start paysafe/authorize", "flow.start paysafe/operation GET:/wallets/*",
        ]

        """)
    try fixture.signIn()
    #expect(try fixture.operate("GET", "/wallets/wlt_alice/balance")["result"]?["status"] == 200)
    let reply = try fixture.app.reply(
      to: "flow.start",
      [
        "provider": "paysafe", "kind": "operation",
        "params": ["method": "POST", "path": "/wallets/wlt_alice/payments", "body": [:]],
      ])
    #expect(reply["error"]?["data"]?["reason"] == "permission_denied", "\(reply.text)")
  }
}
