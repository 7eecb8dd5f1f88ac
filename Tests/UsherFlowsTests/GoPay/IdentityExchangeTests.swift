import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("GoPay verify with the exchange by the partner's backend")
struct IdentityBackendTests {
  private func driven(token: String? = nil) throws -> Driven {
    var driven = try Driven(token: token, provider: gopay(.backend))
    driven.toExchange()
    return driven
  }

  private static let call = GoPayCall.exchange(
    code: Secret("code-secret"), correlationID: "corr-5678", requestID: "req-1")

  @Test("GoPay verify sends the auth code to the backend at once, with a deadline of 60 seconds")
  func asked() throws {
    let driven = try driven()
    #expect(
      driven.last
        == .proceed([.stopListening, .call(Self.call), .wake(after: .seconds(60))]))
    #expect(driven.state == "waitAck")
    #expect(driven.flow.view.step == .wait(.init(for: "the auth code to be exchanged")))
  }

  @Test("GoPay verify begins the capture with the backend's linking token, or with the one it has")
  func success() throws {
    var driven = try driven()
    driven.answered(["userCorrelationId": "corr-5678", "token": "handed-secret"])
    #expect(
      driven.calls == [.temporaryToken(.token(Sealed(Secret("handed-secret"))), requestID: "req-1")]
    )
    #expect(driven.flow.callsIfAbandoned == [])
    driven = try self.driven()
    driven.answered(["userCorrelationId": "corr-5678"])
    #expect(driven.calls == [.sessionToken(code: Secret("code-secret"), requestID: "req-1")])
    driven = try self.driven(token: "given-secret")
    driven.answered(["userCorrelationId": "corr-5678", "token": nil])
    #expect(
      driven.calls == [.temporaryToken(.token(Sealed(Secret("given-secret"))), requestID: "req-1")])
  }

  @Test("GoPay verify goes on with any userCorrelationId of the backend but a blank one (GPE-2208)")
  func otherID() throws {
    var driven = try driven()
    driven.answered(["userCorrelationId": "corr-5679"])
    #expect(driven.state == "kyc")
    driven.toPage()
    driven.submit()
    #expect(driven.grant?.attributes["exchangedUserCorrelationId"] == "corr-5679")
    driven = try self.driven()
    driven.answered(["userCorrelationId": " "])
    #expect(driven.code == "GPE-2208" && driven.failure?.reason == .exchangeFailed)
  }

  @Test("a reason from the backend fails GoPay verify with GPE-2208, another refusal with GPE-2215")
  func failed() throws {
    var driven = try driven()
    driven.answered(["reason": "user unknown"], status: 500)
    #expect(driven.code == "GPE-2208" && driven.failure?.message == "user unknown")
    driven = try self.driven()
    driven.answered([:], status: 404)
    #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerRejected)
  }

  @Test("an unreadable HTTP 200 reply of the backend fails GoPay verify with GPE-2215")
  func garbage() throws {
    let answers = [reply(text: "ok"), reply([:]), reply(["userCorrelationId": 5678])]
    for answer in answers {
      var driven = try driven()
      driven.answered(.reply(answer))
      #expect(driven.code == "GPE-2215")
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("GoPay verify repeats an unanswered exchange within its one deadline")
  func repeated() throws {
    var driven = try driven()
    driven.clock = now + .seconds(10)
    driven.answered(Driven.gone)
    #expect(driven.last == .proceed([.wake(after: .seconds(1))]))
    #expect(driven.problem?.reason == "provider_unreachable")
    #expect(driven.answered(["userCorrelationId": "corr-5678"]) == .ignore)
    driven.clock = now + .seconds(11)
    driven.receive(.woken)
    #expect(driven.last == .proceed([.call(Self.call), .wake(after: .seconds(49))]))
    driven.answered(["userCorrelationId": "corr-5678"])
    #expect(driven.state == "kyc" && driven.problem == nil)
  }

  @Test("a retry pause ends at the exchange deadline, which fails GoPay verify with GPE-2209")
  func pauseAtTheEnd() throws {
    var driven = try driven()
    driven.clock = now + .seconds(55)
    driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "30"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(5))]))
    driven.clock = now + .seconds(60)
    driven.receive(.woken)
    #expect(driven.code == "GPE-2209")
  }

  @Test("the exchange deadline fails GoPay verify with GPE-2209, also with a reply at that time")
  func deadline() throws {
    var driven = try driven()
    driven.clock = now + .seconds(59)
    #expect(driven.receive(.woken) == .proceed([.wake(after: .seconds(1))]))
    driven.clock = now + .seconds(60)
    var late = driven
    driven.receive(.woken)
    #expect(driven.code == "GPE-2209" && driven.cleanUp == [])
    late.answered(["userCorrelationId": "corr-5678"])
    #expect(late.code == "GPE-2209")
  }

  @Test("exhausted retries fail GoPay verify with GPE-2203, or with GPE-2215 after HTTP 503")
  func usedUp() throws {
    func end(_ outcome: CallOutcome) throws -> Driven {
      var driven = try Driven(provider: gopay(.backend) { $0.exchangeSeconds = 600 })
      driven.toExchange()
      for _ in 0..<5 {
        driven.answered(outcome)
        driven.receive(.woken)
      }
      driven.answered(outcome)
      return driven
    }
    #expect(try end(Driven.gone).code == "GPE-2203")
    let busy = try end(.reply(reply([:], status: 503)))
    #expect(busy.code == "GPE-2215" && busy.failure?.reason == .providerUnreachable)
  }

  @Test("a restart of GoPay verify repeats the exchange for the rest of its time")
  func restart() throws {
    var driven = try driven()
    driven.clock = now + .seconds(20)
    try driven.restart()
    #expect(driven.last == .proceed([.call(Self.call), .wake(after: .seconds(40))]))
    driven.clock = now + .seconds(60)
    try driven.restart()
    #expect(driven.code == "GPE-2209")
  }
}

@Suite("GoPay verify with the account binding by SNAP")
struct IdentityBindingTests {
  private func driven(token: String? = nil) throws -> Driven {
    var driven = try Driven(token: token, provider: gopay(.snap))
    driven.toExchange()
    return driven
  }

  private static let yes: JSONValue = [
    "responseCode": "2000700", "accessTokenInfo": ["accessToken": "bound-secret"],
  ]
  private static let unbinding = GoPayCall.unbinding(
    token: Secret("bound-secret"), device: device)

  private func externalID(_ call: GoPayCall?) -> String? {
    if case .binding(Secret("code-secret"), device, let id) = call { id } else { nil }
  }

  @Test("a SNAP binding call has an external id of 32 digits and a deadline of 60 seconds")
  func asked() throws {
    let driven = try driven()
    let id = try #require(externalID(driven.calls.first))
    #expect(id.utf8.count == 32 && id.allSatisfy(\.isNumber))
    #expect(driven.effects.first == .stopListening)
    #expect(driven.effects.last == .wake(after: .seconds(60)))
    #expect(driven.flow.view.step.kind == .wait)
  }

  @Test("GoPay verify begins the capture with the linking token of the binding")
  func success() throws {
    for token in [nil, "given-secret"] {
      var driven = try driven(token: token)
      driven.answered(Self.yes)
      #expect(driven.state == "kyc")
      let bound = LinkingToken.token(Sealed(Secret("bound-secret")))
      #expect(driven.calls == [.temporaryToken(bound, requestID: "req-1")])
    }
  }

  /// `SNAPReplyTests` covers each refusal of SNAP's table.
  @Test("a refused binding fails verify with SNAP's code and has nothing to undo")
  func refused() throws {
    var driven = try driven()
    driven.answered(["responseCode": "4040711", "responseMessage": "No"], status: 404)
    #expect(driven.code == "GPE-2208" && driven.failure?.provider?.error == "4040711")
    #expect(driven.cleanUp == [])
  }

  @Test("an unanswered SNAP binding is repeated with its external id, also after a restart")
  func repeated() throws {
    var driven = try driven()
    let first = driven.calls
    driven.answered(Driven.gone)
    #expect(driven.last == .proceed([.wake(after: .seconds(1))]))
    driven.receive(.woken)
    #expect(driven.calls == first)
    try driven.restart()
    #expect(driven.calls == first)
    driven.answered(["responseCode": "5000701"], status: 500)
    #expect(driven.last == .proceed([.wake(after: .seconds(2))]))
    driven.receive(.woken)
    driven.answered(Self.yes)
    #expect(driven.state == "kyc" && driven.problem == nil)
  }

  @Test("after a conflict GoPay verify gets another auth code and binds with another external id")
  func conflictWithToken() throws {
    var driven = try driven(token: "given-secret")
    let first = externalID(driven.calls.first)
    driven.clock = now + .seconds(30)
    driven.answered(["responseCode": "4090700"], status: 409)
    #expect(driven.state == "authCode")
    #expect(driven.problem?.reason == "provider_unreachable")
    #expect(driven.problem?.provider?.code == "GPE-2208")
    #expect(driven.problem?.provider?.error == "4090700")
    driven.answered(data: ["authCode": "code-secret"])
    #expect(driven.problem == nil)
    #expect(externalID(driven.calls.first) != nil && externalID(driven.calls.first) != first)
    #expect(driven.effects.last == .wake(after: .seconds(60)))
  }

  @Test("after a conflict GoPay verify shows the log-in page again, with another state")
  func conflictWithPage() throws {
    var driven = try Driven(provider: gopay(.snap))
    let first = driven.expectation?.state
    driven.toExchange()
    driven.answered(["responseCode": "4090700"], status: 409)
    #expect(driven.state == "preparing" && driven.problem?.reason == "provider_unreachable")
    let second = try #require(driven.expectation)
    #expect(second.state != first && second.form == .gopay)
    driven.toBrowser()
    #expect(driven.state == "login" && driven.problem?.reason == "provider_unreachable")
    driven.cameBack()
    driven.answered(Self.yes)
    #expect(driven.state == "kyc")
  }

  @Test("the third conflict fails GoPay verify with GPE-2203")
  func rounds() throws {
    var driven = try driven(token: "given-secret")
    for round in 1...3 {
      #expect(driven.state == "waitAck")
      driven.answered(["responseCode": "4090700"], status: 409)
      if round < 3 { driven.answered(data: ["authCode": "code-secret"]) }
    }
    #expect(driven.code == "GPE-2203" && driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.provider?.error == "4090700" && driven.failure?.retryable == true)
  }

  @Test("conflicts of SNAP bindings before a restart count towards the limit of three")
  func roundsOverRestart() throws {
    var driven = try driven(token: "given-secret")
    for _ in 1...2 {
      driven.answered(["responseCode": "4090700"], status: 409)
      try driven.restart()
      driven.answered(data: ["authCode": "code-secret"])
    }
    driven.answered(["responseCode": "4090700"], status: 409)
    #expect(driven.code == "GPE-2203")
  }

  @Test("a SNAP binding reply without a token, or an unreadable one, fails with GPE-2215")
  func unreadable() throws {
    for outcome in [
      CallOutcome.reply(reply(["responseCode": "2000700"])), .unreadable(message: "garbage"),
    ] {
      var driven = try driven()
      driven.answered(outcome)
      #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("a binding that succeeds at the deadline fails GoPay verify with GPE-2209 and is undone")
  func deadline() throws {
    var driven = try driven()
    driven.clock = now + .seconds(60)
    driven.answered(Self.yes)
    #expect(driven.code == "GPE-2209" && driven.cleanUp == [Self.unbinding])
  }

  @Test("a SNAP binding that succeeds after the flow's end is undone, and no other outcome is")
  func late() throws {
    let driven = try driven()
    let call = try #require(driven.pending)
    let yes = CallOutcome.reply(reply(Self.yes))
    #expect(VerifyIdentity.cleanUp(call, yes) == [Self.unbinding])
    #expect(VerifyIdentity.cleanUp(call, Driven.gone) == [])
    let no: JSONValue = ["responseCode": "4040711", "accessTokenInfo": ["accessToken": "x"]]
    #expect(VerifyIdentity.cleanUp(call, .reply(reply(no, status: 404))) == [])
    let other = GoPayCall.exchange(code: Secret("c"), correlationID: "c", requestID: "r")
    #expect(VerifyIdentity.cleanUp(other, yes) == [])
  }

  @Test("a failed or abandoned GoPay verify undoes its binding, and a finished one keeps it")
  func abandoned() throws {
    var driven = try driven()
    #expect(driven.flow.callsIfAbandoned == [])
    driven.answered(Self.yes)
    #expect(driven.flow.callsIfAbandoned == [Self.unbinding])
    try driven.restart()
    #expect(driven.flow.callsIfAbandoned == [Self.unbinding])
    driven.toPage()
    #expect(driven.flow.callsIfAbandoned == [Self.unbinding])
    var failed = driven
    failed.receive(.woken)
    failed.answered(data: ["submissionId": "sub-1", "status": "FAILED", "error": "CAMERA"])
    #expect(failed.code == "GPE-2210" && failed.cleanUp == [Self.unbinding])
    driven.submit()
    #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("bound-secret"))
    #expect(driven.flow.callsIfAbandoned == [])
  }

  @Test("GoPay verify does not unbind a linking token that was given as a parameter")
  func given() throws {
    var driven = try Driven(.none, token: "given-secret", provider: gopay(.snap))
    #expect(driven.flow.callsIfAbandoned == [])
    driven.refused(403, 1403)
    #expect(driven.cleanUp == [])
  }

  @Test("a GoPay account has the device id of the SNAP binding only if the daemon bound it")
  func deviceID() throws {
    var driven = try driven()
    driven.answered(Self.yes)
    driven.toPage()
    driven.submit()
    #expect(driven.grant?.attributes["deviceId"] == .string(device))
    // The daemon undoes only its own binding, whatever the mode.
    for mode in [GoPayExchange.snap, .app] {
      driven = try Driven(.none, token: "given-secret", provider: gopay(mode))
      driven.toPage()
      driven.submit()
      #expect(driven.grant?.attributes.keys.sorted() == ["kyc"])
    }
  }
}
