import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DrivenIdentity

@Suite("Verify with GoPay: the partner's backend exchanges the code")
struct IdentityBackendTests {
  private func driven(token: String? = nil) throws -> Driven {
    var driven = try Driven(token: token, provider: gopay(.backend))
    driven.toExchange()
    return driven
  }

  private static let call = GoPayCall.exchange(
    code: Secret("code-secret"), correlationID: "corr-5678", requestID: "req-1")

  @Test("asked at once, with a minute for all")
  func asked() throws {
    let driven = try driven()
    #expect(
      driven.last
        == .proceed([.stopListening, .call(Self.call), .wake(after: .seconds(60))]))
    #expect(driven.state == "waitAck")
    #expect(driven.flow.view.step == .wait(.init(for: "the auth code to be exchanged")))
  }

  @Test("its yes leads to the capture, by the linking token it hands in")
  func success() throws {
    var driven = try driven()
    driven.answered(["userCorrelationId": "corr-5678", "token": "handed-secret"])
    #expect(
      driven.calls == [.temporaryToken(.token(Secret("handed-secret")), requestID: "req-1")])
    #expect(driven.flow.abandoned == [])
    driven = try self.driven()
    driven.answered(["userCorrelationId": "corr-5678"])
    #expect(driven.calls == [.sessionToken(code: Secret("code-secret"), requestID: "req-1")])
    driven = try self.driven(token: "given-secret")
    driven.answered(["userCorrelationId": "corr-5678", "token": nil])
    #expect(driven.calls == [.temporaryToken(.token(Secret("given-secret")), requestID: "req-1")])
  }

  @Test("another userCorrelationId is GPE-2214")
  func otherPerson() throws {
    var driven = try driven()
    driven.answered(["userCorrelationId": "corr-5679"])
    #expect(driven.code == "GPE-2214")
  }

  @Test("a reason is GPE-2208 whatever the status; another no is GPE-2215")
  func failed() throws {
    var driven = try driven()
    driven.answered(["reason": "user unknown"], status: 500)
    #expect(driven.code == "GPE-2208" && driven.failure?.message == "user unknown")
    driven = try self.driven()
    driven.answered([:], status: 404)
    #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerRejected)
  }

  @Test("garbage in HTTP 200 is GPE-2215, and is not tried again")
  func garbage() throws {
    let answers = [reply(text: "ok"), reply([:]), reply(["userCorrelationId": 5678])]
    for answer in answers {
      var driven = try driven()
      driven.answered(.reply(answer))
      #expect(driven.code == "GPE-2215")
      #expect(driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("the same call is repeated where no answer came, within the one deadline")
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

  @Test("a pause never outlasts the deadline, and then it is GPE-2209")
  func pauseAtTheEnd() throws {
    var driven = try driven()
    driven.clock = now + .seconds(55)
    driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "30"])))
    #expect(driven.last == .proceed([.wake(after: .seconds(5))]))
    driven.clock = now + .seconds(60)
    driven.receive(.woken)
    #expect(driven.code == "GPE-2209")
  }

  @Test("the deadline holds while the answer is awaited, and for the answer itself")
  func deadline() throws {
    var driven = try driven()
    driven.clock = now + .seconds(59)
    #expect(driven.receive(.woken) == .proceed([.wake(after: .seconds(1))]))
    driven.clock = now + .seconds(60)
    var late = driven
    driven.receive(.woken)
    #expect(driven.code == "GPE-2209" && driven.clearUp == [])
    late.answered(["userCorrelationId": "corr-5678"])
    #expect(late.code == "GPE-2209")
  }

  @Test("retries that are used up end it as the trouble says")
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

  @Test("a restart repeats the same call for the time that is left")
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

@Suite("Verify with GoPay: the daemon binds the account by SNAP")
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

  @Test("with a number of 32 random digits for the call")
  func asked() throws {
    let driven = try driven()
    let id = try #require(externalID(driven.calls.first))
    #expect(id.utf8.count == 32 && id.allSatisfy(\.isNumber))
    #expect(driven.effects.first == .stopListening)
    #expect(driven.effects.last == .wake(after: .seconds(60)))
    #expect(driven.flow.view.step.kind == .wait)
  }

  @Test("and goes on by the linking token it got")
  func success() throws {
    for token in [nil, "given-secret"] {
      var driven = try driven(token: token)
      driven.answered(Self.yes)
      #expect(driven.state == "kyc")
      let bound = LinkingToken.token(Secret("bound-secret"))
      #expect(driven.calls == [.temporaryToken(bound, requestID: "req-1")])
    }
  }

  /// Each refusal of SNAP's table is a row of `SNAPReplyTests`.
  @Test("a refusal ends it with SNAP's code, and nothing is undone")
  func refused() throws {
    var driven = try driven()
    driven.answered(["responseCode": "4040711", "responseMessage": "No"], status: 404)
    #expect(driven.code == "GPE-2208" && driven.failure?.provider?.error == "4040711")
    #expect(driven.clearUp == [])
  }

  @Test("the same call with the same number is repeated where no answer came")
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

  @Test("a conflict asks for another code by the token, with another number and another minute")
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

  @Test("or by the log-in page, with another state")
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

  @Test("three times at most")
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

  @Test("the rounds are counted over a restart")
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

  @Test("a yes without a token, and a client token that cannot be read, are GPE-2215")
  func unreadable() throws {
    for outcome in [
      CallOutcome.reply(reply(["responseCode": "2000700"])), .unreadable(message: "garbage"),
    ] {
      var driven = try driven()
      driven.answered(outcome)
      #expect(driven.code == "GPE-2215" && driven.failure?.reason == .providerProtocolError)
    }
  }

  @Test("a yes at the deadline is too late, and undone")
  func deadline() throws {
    var driven = try driven()
    driven.clock = now + .seconds(60)
    driven.answered(Self.yes)
    #expect(driven.code == "GPE-2209" && driven.clearUp == [Self.unbinding])
  }

  @Test("a yes after the flow's end is undone; nothing else is")
  func late() throws {
    let driven = try driven()
    let call = try #require(driven.pending)
    let yes = CallOutcome.reply(reply(Self.yes))
    #expect(VerifyIdentity.clearUp(call, yes) == [Self.unbinding])
    #expect(VerifyIdentity.clearUp(call, Driven.gone) == [])
    let no: JSONValue = ["responseCode": "4040711", "accessTokenInfo": ["accessToken": "x"]]
    #expect(VerifyIdentity.clearUp(call, .reply(reply(no, status: 404))) == [])
    let other = GoPayCall.exchange(code: Secret("c"), correlationID: "c", requestID: "r")
    #expect(VerifyIdentity.clearUp(other, yes) == [])
  }

  @Test("what it has bound is unbound where the flow is given up or fails")
  func abandoned() throws {
    var driven = try driven()
    #expect(driven.flow.abandoned == [])
    driven.answered(Self.yes)
    #expect(driven.flow.abandoned == [Self.unbinding])
    try driven.restart()
    #expect(driven.flow.abandoned == [Self.unbinding])
    driven.toPage()
    #expect(driven.flow.abandoned == [Self.unbinding])
    var failed = driven
    failed.receive(.woken)
    failed.answered(data: ["submissionId": "sub-1", "status": "FAILED", "error": "CAMERA"])
    #expect(failed.code == "GPE-2210" && failed.clearUp == [Self.unbinding])
    driven.submit()
    #expect(driven.grant?.tokens?.accessToken.unsealed() == Secret("bound-secret"))
    #expect(driven.flow.abandoned == [])
  }

  @Test("a token that was given is nobody's to unbind")
  func given() throws {
    var driven = try Driven(.none, token: "given-secret", provider: gopay(.snap))
    #expect(driven.flow.abandoned == [])
    driven.refused(403, 1403)
    #expect(driven.clearUp == [])
  }

  @Test("the account keeps the device that an unbinding names; in other modes there is none")
  func deviceID() throws {
    var driven = try driven()
    driven.answered(Self.yes)
    driven.toPage()
    driven.submit()
    #expect(driven.grant?.attributes["deviceId"] == .string(device))
    // What the daemon has not bound is not its to undo, whatever the mode.
    for mode in [GoPayExchange.snap, .app] {
      driven = try Driven(.none, token: "given-secret", provider: gopay(mode))
      driven.toPage()
      driven.submit()
      #expect(driven.grant?.attributes.keys.sorted() == ["kyc"])
    }
  }
}
