import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("GoPay verify with the exchange by the app")
struct IdentityHandoverTests {
  private func driven(token: String? = nil, provider: ProviderConfig? = nil) throws -> Driven {
    var driven = try Driven(token: token, provider: provider)
    driven.toExchange()
    return driven
  }

  private static func success(
    _ correlationID: String = "corr-5678", token: String? = nil
  ) -> FlowEvent<GoPayCall> {
    var fields = ["userCorrelationId": Secret(correlationID)]
    fields["token"] = token.map { Secret($0) }
    return .input(.exchanged(fields))
  }

  @Test("GoPay's exchange step has the auth code, the requestId and a deadline of 60 seconds")
  func step() throws {
    let driven = try driven()
    #expect(driven.state == "waitAck")
    let step = try #require(driven.exchangeStep)
    #expect(step.credential == .init(type: .authCode, code: WireSecret("code-secret")))
    #expect(step.requestId == "req-1" && step.deadline == now + .seconds(60))
    #expect(step.codeVerifier == nil && step.redirectURI == nil)
    #expect(driven.calls == [])
  }

  @Test("exchange_seconds sets the deadline of GoPay's exchange step")
  func otherDeadline() throws {
    let driven = try driven(provider: gopay { $0.exchangeSeconds = 300 })
    #expect(driven.exchangeStep?.deadline == now + .seconds(300))
    #expect(driven.effects.last == .wake(after: .seconds(300)))
  }

  @Test("GoPay verify begins the capture with the auth code if the app has redeemed it")
  func success() throws {
    var driven = try driven()
    driven.receive(Self.success())
    #expect(driven.state == "kyc")
    #expect(driven.calls == [.sessionToken(code: Secret("code-secret"), requestID: "req-1")])
  }

  @Test("GoPay verify prefers the app's linking token to the given one, and both to the log-in's")
  func tokens() throws {
    func link(_ token: String) -> [GoPayCall] {
      [.temporaryToken(.token(Sealed(Secret(token))), requestID: "req-1")]
    }
    var driven = try driven(token: "given-secret")
    driven.receive(Self.success(token: "handed-secret"))
    #expect(driven.calls == link("handed-secret"))
    driven = try self.driven(token: "given-secret")
    driven.receive(Self.success())
    #expect(driven.calls == link("given-secret"))
    driven = try self.driven()
    driven.receive(Self.success(token: "handed-secret"))
    #expect(driven.calls == link("handed-secret"))
    driven = try Driven(account: Driven.knownAccount)
    driven.toKYC()
    #expect(driven.calls == [.temporaryToken(.account(AccountID("acc_1")), requestID: "req-1")])
  }

  @Test("GoPay verify goes on with any userCorrelationId of the exchange, and the account keeps it")
  func otherID() throws {
    for id in ["corr-5678", "gopay-user-9", "Müller 42", " a "] {
      var driven = try driven()
      driven.receive(Self.success(id))
      #expect(driven.state == "kyc" && driven.failure == nil)
      try driven.restart()
      driven.toPage()
      driven.submit()
      #expect(driven.grant?.subject == "corr-5678" && driven.grant?.label == "corr-5678")
      #expect(driven.grant?.attributes["exchangedUserCorrelationId"] == .string(id))
    }
  }

  @Test("a blank or unusable userCorrelationId of the exchange fails GoPay verify with GPE-2208")
  func noID() throws {
    for id in ["", " ", "\t\n", "a\nb", String(repeating: "c", count: 4097)] {
      var driven = try driven()
      driven.receive(Self.success(id))
      #expect(driven.code == "GPE-2208" && driven.failure?.reason == .exchangeFailed)
      #expect(driven.failure?.message == "the exchange returned no userCorrelationId")
    }
  }

  @Test("an exchange for another GoPay user than the named account's fails verify with GPE-2214")
  func otherUser() throws {
    func driven(_ known: [String: JSONValue]) throws -> Driven {
      var driven = try Driven(account: Driven.knownAccount, attributes: known)
      driven.toExchange()
      driven.receive(Self.success("gopay-user-9"))
      return driven
    }
    for known in ["gopay-user-8", "GOPAY-user-9", "corr-5678"] {
      let driven = try driven(["exchangedUserCorrelationId": .string(known)])
      #expect(driven.code == "GPE-2214")
      #expect(driven.failure?.reason == .providerRejected && driven.failure?.retryable == false)
    }
    #expect(try driven(["exchangedUserCorrelationId": "gopay-user-9"]).state == "kyc")
    #expect(try driven([:]).state == "kyc")
  }

  @Test("a GoPay verification without an exchange keeps the user of the account that it names")
  func keepsUser() throws {
    let known: [String: JSONValue] = ["exchangedUserCorrelationId": "gopay-user-9"]
    var driven = try Driven(
      .none, token: "linking-secret", account: Driven.knownAccount, attributes: known)
    driven.refused(404, 1519)
    driven.toPage()
    driven.submit()
    #expect(driven.grant?.attributes["exchangedUserCorrelationId"] == "gopay-user-9")
  }

  @Test("a failed exchange fails GoPay verify with GPE-2208 and the app's reason, cleaned")
  func failed() throws {
    for (reason, message) in [
      ("invalid_grant", "invalid_grant"), ("a\u{1B}[0m\nb", "a[0m b"),
      (" ", "the exchange of the credential failed"),
      ("code code-secret was used before", "code … was used before"),
      (String(repeating: "b", count: 201), String(repeating: "b", count: 199) + "…"),
    ] {
      var driven = try driven()
      driven.receive(.input(.exchangeFailed(reason: reason)))
      #expect(driven.code == "GPE-2208")
      #expect(driven.failure?.reason == .exchangeFailed && driven.failure?.retryable == false)
      #expect(driven.failure?.message == message)
    }
  }

  @Test("a malformed answer to GoPay's exchange step is refused with its field; the step stays")
  func shapes() throws {
    let long = String(repeating: "t", count: 4097)
    let cases: [(String, [String: String])] = [
      ("userCorrelationId", [:]), ("userCorrelationId", ["token": "t"]),
      ("token", ["userCorrelationId": "corr-5678", "token": ""]),
      ("token", ["userCorrelationId": "corr-5678", "token": "a b"]),
      ("token", ["userCorrelationId": "corr-5678", "token": "ü"]),
      ("token", ["userCorrelationId": "corr-5678", "token": long]),
      ("accessToken", ["userCorrelationId": "corr-5678", "accessToken": "t"]),
    ]
    var driven = try driven()
    let before = driven.flow
    for (field, fields) in cases {
      driven.receive(.input(.exchanged(fields.mapValues { Secret($0) })))
      guard case .refuse("input.success.\(field)", let message) = driven.last else {
        Issue.record("the input is not refused: \(fields.keys)")
        continue
      }
      #expect(message.hasPrefix("input.success.\(field) ") && driven.flow == before)
    }
    driven.receive(Self.success(token: String(repeating: "t", count: 4096)))
    #expect(driven.state == "kyc")
  }

  @Test("an answer at the exchange deadline, or none, fails GoPay verify with GPE-2209")
  func deadline() throws {
    let events: [FlowEvent<GoPayCall>] = [
      .woken, .resumed, Self.success(), .input(.exchangeFailed(reason: "late")),
    ]
    for event in events {
      var driven = try driven()
      driven.clock = now + .seconds(60)
      driven.receive(event)
      #expect(driven.code == "GPE-2209")
      #expect(driven.failure?.reason == .exchangeTimedOut && driven.failure?.retryable == true)
    }
    var driven = try driven()
    driven.clock = now + .milliseconds(59_999)
    driven.receive(Self.success())
    #expect(driven.state == "kyc")
  }

  @Test("GoPay's exchange deadline is at least a second before the flow's own end")
  func flowsEnd() throws {
    var driven = try Driven(endsAt: now + .seconds(30))
    driven.toExchange()
    guard case .exchangeCredential(let step) = driven.flow.view.step else {
      Issue.record("the flow is at the step \(driven.flow.view.step.kind)")
      return
    }
    #expect(step.deadline == now + .seconds(29))
    driven.clock = now + .seconds(29)
    driven.receive(.woken)
    #expect(driven.code == "GPE-2209")
  }

  @Test("a timer that fires before GoPay's exchange deadline is set again")
  func early() throws {
    var driven = try driven()
    let before = driven.flow
    driven.clock = now + .seconds(59)
    #expect(driven.receive(.woken) == .proceed([.wake(after: .seconds(1))]))
    #expect(driven.flow == before)
  }

  @Test("a restarted usherd keeps GoPay's exchange step with its code and deadline")
  func restart() throws {
    var driven = try driven()
    let view = driven.flow.view
    driven.clock = now + .seconds(20)
    try driven.restart()
    #expect(driven.last == .proceed([.wake(after: .seconds(40))]))
    #expect(driven.flow.view == view)
    driven.receive(Self.success())
    #expect(driven.state == "kyc")
  }

  @Test("GoPay's exchange step refuses the input that asks for the previous step")
  func back() throws {
    var driven = try driven()
    driven.receive(.input(.back(.exchangeCredential)))
    #expect(driven.refusedField == "input.back")
  }

  @Test("GoPay verify does not undo a binding that the app reports")
  func notOurs() throws {
    var driven = try driven()
    driven.receive(Self.success(token: "handed-secret"))
    #expect(driven.flow.callsIfAbandoned == [])
    driven.refused(403, 1403)
    #expect(driven.code == "GPE-2204" && driven.cleanUp == [])
  }
}
