import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private func refusal(_ code: JSONValue = 4000, _ message: String = "no such thing") -> JSONValue {
  ["code": code, "message": .string(message)]
}

/// Where a call is under way.
enum Stage: CaseIterable {
  case create, verify, validate, update, profile

  func driven(_ validation: TokenValidation = .sdk28) throws -> DrivenVerification {
    var driven = try DrivenVerification(
      provider: truecaller { $0.validation = self == .validate ? validation : .none })
    switch self {
    case .create: break
    case .verify: driven.toVerify()
    case .validate, .update: driven.toToken()
    case .profile: driven.toProfile()
    }
    return driven
  }
}

@Suite("What Truecaller refuses")
struct VerifyRefusalTests {
  @Test(
    "ends with the SDK's number and the server's code",
    arguments: [
      (.create, 400, 4000, .invalidRequest, 14), (.create, 400, 4001, .invalidRequest, 14),
      (.create, 400, 4002, .invalidRequest, 14), (.create, 401, 4010, .providerRejected, 12),
      (.create, 403, 4010, .providerRejected, 12), (.create, 429, 4291, .attemptsExhausted, 10),
      (.create, 429, 4292, .attemptsExhausted, 10), (.create, 404, 1, .providerRejected, 10),
      (.create, 200, 7, .providerRejected, 10), (.verify, 401, 4010, .providerRejected, 12),
      (.verify, 403, 4010, .providerRejected, 12), (.verify, 429, 4293, .attemptsExhausted, 10),
      (.validate, 401, 4010, .providerRejected, 12), (.validate, 400, 9, .providerRejected, 10),
      (.validate, 404, 404, .providerRejected, 12), (.validate, 404, 1404, .providerRejected, 11),
      (.validate, 404, 7, .providerRejected, 10), (.update, 401, 4011, .providerRejected, 11),
      (.update, 403, 4011, .providerRejected, 11), (.update, 422, 4221, .providerRejected, 13),
      (.update, 400, 4000, .providerRejected, 13), (.update, 200, 4221, .providerRejected, 13),
      (.profile, 401, 4011, .providerRejected, 11), (.profile, 404, 8, .providerRejected, 10),
      (.profile, 200, 8, .providerRejected, 10),
    ] as [(Stage, Int, Int64, Failure.Reason, Int)])
  func failures(
    stage: Stage, status: Int, code: Int64, reason: Failure.Reason, error: Int
  ) throws {
    var driven = try stage.driven()
    driven.answered(refusal(.integer(code)), status: status)
    #expect(driven.failure?.reason == reason)
    #expect(
      driven.failure?.provider
        == ProviderWord(
          name: phones, code: String(error), error: String(code), message: "no such thing"))
    #expect(driven.failure?.message == "no such thing")
  }

  @Test(
    "a wrong code leads back to the step, whatever the server calls it",
    arguments: [(422, 4220), (400, 4000), (404, 1), (200, 7), (409, 3)] as [(Int, Int64)])
  func wrongCode(status: Int, code: Int64) throws {
    var driven = try DrivenVerification()
    driven.toCode()
    let step = driven.step
    driven.receive(DrivenVerification.code("000000"))
    driven.answered(refusal(.integer(code), "wrong otp"), status: status)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpInitiated")
    #expect(driven.step == step)
    #expect(
      driven.problem
        == Problem(
          reason: "wrong_code", title: "Wrong code", message: "wrong otp",
          provider: ProviderWord(
            name: phones, code: "10", error: String(code), message: "wrong otp")))
    driven.receive(DrivenVerification.code())
    #expect(driven.state == "otpReceived")
  }

  @Test("wrong codes are the server's to count, up to its cap")
  func cap() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    for _ in 0..<4 {
      driven.receive(DrivenVerification.code("000000"))
      driven.answered(refusal(4220), status: 422)
      #expect(driven.problem?.reason == "wrong_code")
    }
    driven.receive(DrivenVerification.code("000000"))
    driven.answered(refusal(4293), status: 429)
    #expect(driven.failure?.reason == .attemptsExhausted)
  }

  @Test("a code whose time is over by the server's clock can be replaced at once")
  func expired() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    let later = now + .seconds(5)
    driven.answered(refusal(4100), status: 410, at: later)
    #expect(driven.problem?.reason == "code_expired")
    #expect(driven.problem?.provider?.error == "4100")
    #expect(driven.step?.resendAt == later)
    driven.receive(.input(.resend), at: later)
    #expect(driven.calls == [.create(try phone(), installation: installation)])
  }

  @Test(
    "an answer on which the SDK is silent is an error",
    arguments: [
      (.create, [:]), (.create, ["method": "call", "verificationToken": "v"]),
      (.create, ["method": "sms"]), (.create, ["method": "sms", "verificationToken": ""]),
      (.create, ["accessToken": "a"]), (.create, ["accessToken": "a", "status": 0]),
      (.create, ["accessToken": "", "status": 1]), (.create, ["status": 1]),
      (.create, ["accessToken": "a b", "status": 1]), (.verify, [:]),
      (.verify, ["status": 1]), (.verify, ["accessToken": ""]), (.verify, ["accessToken": 5]),
      (.verify, ["accessToken": "a\nb"]), (.validate, [:]), (.validate, ["phoneNumber": nil]),
    ] as [(Stage, JSONValue)])
  func silent(stage: Stage, answer: JSONValue) throws {
    var driven = try stage.driven()
    driven.answered(answer)
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.failure?.provider == ProviderWord(name: phones, code: "10"))
  }

  @Test(
    "what is no answer is an error; of a profile it has a number of its own",
    arguments: [(.create, 10), (.verify, 10), (.validate, 10), (.update, 10), (.profile, 13)]
      as [(Stage, Int)])
  func unreadable(stage: Stage, error: Int) throws {
    let outcomes: [CallOutcome] = [
      .unreadable(message: "too long"), .reply(reply(text: "", status: 302)),
    ]
    let bodies: [CallOutcome] =
      stage == .update ? [] : [.reply(reply(text: "<html>")), .reply(reply([1, 2]))]
    for outcome in outcomes + bodies {
      var driven = try stage.driven()
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.provider?.code == String(error))
    }
  }

  @Test("a code of the server's own may be a word")
  func words() throws {
    var driven = try DrivenVerification()
    driven.answered(refusal("E\u{1B}[1m-7"), status: 400)
    #expect(driven.failure?.provider?.error == "E[1m-7")
  }
}

@Suite("A Truecaller that cannot just now")
struct VerifyTroubleTests {
  @Test(
    "is asked again, with longer and longer pauses, and then no more",
    arguments: [Stage.create, .validate, .update, .profile])
  func pauses(stage: Stage) throws {
    var driven = try stage.driven()
    let state = driven.state
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, .unreachable(message: "gone", sent: true)))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.problem?.reason == "provider_unreachable")
      #expect(driven.problem?.provider?.code == "9")
      #expect(driven.state == state)
      #expect(driven.receive(.called(call, .reply(reply([:])))) == .ignore)
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
      #expect(driven.receive(.woken) == .ignore)
    }
    driven.receive(.called(call, .unreachable(message: "gone", sent: true)))
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.provider?.code == "9")
  }

  @Test(
    "what the server says of itself has its code, and its Retry-After is waited for",
    arguments: [Stage.create, .validate, .update, .profile])
  func server(stage: Stage) throws {
    for (status, body) in [(500, ["code": 500]), (503, [:]), (429, [:])] as [(Int, JSONValue)] {
      var driven = try stage.driven()
      driven.answered(.reply(reply(body, status: status, headers: ["retry-after": "30"])))
      #expect(driven.last == .proceed([.wake(after: .seconds(30))]))
      #expect(driven.problem?.provider?.code == "10")
      #expect(driven.problem?.provider?.error == (status == 500 ? "500" : nil))
    }
  }

  @Test("a problem is gone with the next answer")
  func cleared() throws {
    var driven = try DrivenVerification()
    let call = try #require(driven.calls.first)
    driven.answered(.unreachable(message: "gone", sent: true))
    driven.receive(.woken)
    driven.receive(.called(call, .reply(reply(DrivenVerification.sent))))
    #expect(driven.problem == nil)
    driven = try Stage.update.driven()
    let update = try #require(driven.calls.first)
    driven.answered(.unreachable(message: "gone", sent: true))
    driven.receive(.woken)
    driven.receive(.called(update, .reply(reply([:]))))
    #expect(driven.state == "verificationComplete")
    #expect(driven.problem == nil)
  }

  @Test("a code the server has certainly not seen is sent again")
  func notSent() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, .unreachable(message: "gone", sent: false)))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.state == "otpReceived")
      #expect(driven.problem?.provider?.code == "9")
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
    driven.receive(.called(call, .unreachable(message: "gone", sent: false)))
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test("a code whose time ends during a pause is not sent again")
  func expiresMeanwhile() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    driven.answered(.unreachable(message: "gone", sent: false))
    driven.receive(.woken, at: now + .seconds(90))
    #expect(driven.last == .proceed([]))
    #expect(driven.problem?.reason == "code_expired")
  }

  @Test(
    "a code of which nobody knows what became is asked for again",
    arguments: [
      (.unreachable(message: "gone", sent: true), "provider_unreachable", "9", nil),
      (.reply(reply(["code": 500], status: 500)), "provider_unreachable", "10", nil),
      (.reply(reply(text: "", status: 408)), "provider_unreachable", "10", nil),
      (
        .reply(reply(text: "", status: 429, headers: ["retry-after": "3"])), "rate_limited", "10",
        3000
      ),
      (.reply(reply(text: "", status: 429)), "rate_limited", "10", nil),
    ] as [(CallOutcome, String, String, Int?)])
  func askedAgain(outcome: CallOutcome, reason: String, code: String, wait: Int?) throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    driven.answered(outcome)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpInitiated")
    #expect(driven.problem?.reason == reason)
    #expect(driven.problem?.provider?.code == code)
    #expect(driven.problem?.retryAfterMs == wait)
    driven.receive(DrivenVerification.code())
    #expect(driven.calls == [.verify(try phone(), code: otp, token: verificationToken)])
  }
}

@Suite("A verification after a restart")
struct VerifyRestartTests {
  @Test("asks for a code again where no answer came: nobody could use the first")
  func creating() throws {
    var driven = try DrivenVerification()
    let request = driven.last
    try driven.restart()
    #expect(driven.last == request)
    driven.answered(.unreachable(message: "gone", sent: true))
    try driven.restart()
    #expect(driven.last == request)
  }

  @Test("has what is left of the TTL")
  func remaining() throws {
    var driven = try DrivenVerification()
    driven.toCode()
    let view = driven.flow.view
    try driven.restart(at: now + .seconds(60))
    #expect(driven.last == .ignore)
    #expect(driven.flow.view == view)
    driven.receive(.input(.resend), at: now + .seconds(60))
    #expect(driven.problem?.retryAfterMs == 30_000)
    driven.receive(DrivenVerification.code(), at: now + .seconds(89))
    #expect(driven.state == "otpReceived")
  }

  @Test("asks for a code that was under way once more")
  func interrupted() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    try driven.restart()
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "otpInitiated")
    #expect(driven.problem == .interrupted)
    #expect(driven.step?.expiresAt == now + .seconds(90))

    driven.receive(DrivenVerification.code())
    driven.answered(.unreachable(message: "gone", sent: false))
    try driven.restart()
    #expect(driven.problem == .interrupted)
  }

  @Test("goes on with the name and the profile: the code is not needed any more")
  func admitted() throws {
    for stage in [Stage.validate, .update, .profile] {
      var driven = try stage.driven()
      let last = driven.last
      let state = driven.state
      try driven.restart()
      #expect(driven.last == last)
      #expect(driven.state == state)
      driven.answered(.unreachable(message: "gone", sent: true))
      try driven.restart()
      #expect(driven.last == last)
    }
  }
}
