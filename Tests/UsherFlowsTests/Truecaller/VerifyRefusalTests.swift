import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private func refusal(_ code: JSONValue = 4000, _ message: String = "no such thing") -> JSONValue {
  ["code": code, "message": .string(message)]
}

/// The calls of `verifyPhone`, and the storing of the account.
enum Phase: CaseIterable {
  case create, verify, validate, store, update, profile

  static let calls = allCases.filter { $0 != .store }

  func driven(_ validation: TokenValidation = .sdk28) throws -> DrivenVerification {
    var driven = try DrivenVerification(
      provider: truecaller { $0.validation = self == .validate ? validation : .none })
    switch self {
    case .create: break
    case .verify: driven.toVerify()
    case .store:
      driven.keeps = false
      driven.toToken()
    case .validate, .update: driven.toToken()
    case .profile: driven.toProfile()
    }
    return driven
  }
}

@Suite("Refusals of Truecaller")
struct VerifyRefusalTests {
  @Test(
    "a refusal fails Truecaller verifyPhone with its TCError and the server's code",
    arguments: [
      (.create, 400, 4000, .invalidRequest, 14), (.create, 400, 4001, .invalidRequest, 14),
      (.create, 400, 4002, .invalidRequest, 14), (.create, 401, 4010, .providerRejected, 12),
      (.create, 403, 4010, .providerRejected, 12), (.create, 429, 4291, .attemptsExhausted, 10),
      (.create, 429, 4292, .attemptsExhausted, 10), (.create, 404, 1, .providerRejected, 10),
      (.create, 200, 7, .providerRejected, 10), (.create, 200, 4291, .providerRejected, 10),
      (.verify, 401, 4010, .providerRejected, 12),
      (.verify, 403, 4010, .providerRejected, 12), (.verify, 429, 4293, .attemptsExhausted, 10),
      (.validate, 401, 4010, .providerRejected, 12), (.validate, 400, 9, .providerRejected, 10),
      (.validate, 404, 404, .providerRejected, 12), (.validate, 404, 1404, .providerRejected, 11),
      (.validate, 404, 7, .providerRejected, 10), (.profile, 401, 4011, .providerRejected, 11),
      (.profile, 404, 8, .providerRejected, 10),
      (.profile, 200, 8, .providerRejected, 10),
    ] as [(Phase, Int, Int64, Failure.Reason, Int)])
  func failures(
    stage: Phase, status: Int, code: Int64, reason: Failure.Reason, error: Int
  ) throws {
    var driven = try stage.driven()
    driven.answered(refusal(.integer(code)), status: status)
    #expect(driven.failure?.reason == reason)
    #expect(
      driven.failure?.provider
        == ProviderErrorCode(
          name: phones, code: String(error), error: String(code), message: "no such thing"))
    #expect(driven.failure?.message.hasPrefix("no such thing") == true)
  }

  @Test(
    "a wrong Truecaller code leads back to the code step, whatever code the server has for it",
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
          provider: ProviderErrorCode(
            name: phones, code: "10", error: String(code), message: "wrong otp")))
    driven.receive(DrivenVerification.code())
    #expect(driven.state == "verifying")
  }

  @Test("the server counts the wrong codes, and its HTTP 429 ends Truecaller verifyPhone")
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

  @Test("a code that has expired by Truecaller's clock can be resent at once")
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

  @Test("Truecaller's refusal after a code's expiry does not change that expiry")
  func expiredBefore() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    driven.answered(refusal(4100), status: 410, at: now + .seconds(100))
    #expect(driven.step?.expiresAt == now + .seconds(90))
  }

  @Test("a reached Truecaller limit is a retryable failure; a refused app or token is not")
  func retryable() throws {
    for (stage, status, code, isRetryable) in [
      (.create, 429, 4291, true), (.verify, 429, 4293, true), (.create, 400, 4001, true),
      (.create, 401, 4010, false), (.validate, 404, 1404, false), (.profile, 401, 4011, false),
    ] as [(Phase, Int, Int64, Bool)] {
      var driven = try stage.driven()
      driven.answered(refusal(.integer(code)), status: status)
      #expect(driven.failure?.retryable == isRetryable, "\(code)")
    }
  }

  @Test("at most 200 characters of a Truecaller message are shown, without control characters")
  func cleaned() throws {
    var driven = try DrivenVerification()
    let said = "no\u{1B}[31m\u{202E}\nmore " + String(repeating: "a", count: 5000)
    driven.answered(["code": 4001, "message": .string(said)], status: 400)
    let shown = try #require(driven.failure?.message)
    #expect(shown.hasPrefix("no[31m more a") && shown.count <= 200)
    #expect(driven.failure?.provider?.message == shown)
  }

  @Test(
    "a Truecaller reply without the members that it must have is a protocol error",
    arguments: [
      (.create, [:]), (.create, ["method": "call", "verificationToken": "v"]),
      (.create, ["method": "sms"]), (.create, ["method": "sms", "verificationToken": ""]),
      (.create, ["accessToken": "a"]), (.create, ["accessToken": "a", "status": 0]),
      (.create, ["accessToken": "", "status": 1]), (.create, ["status": 1]),
      (.create, ["accessToken": "a b", "status": 1]), (.verify, [:]),
      (.verify, ["status": 1]), (.verify, ["accessToken": ""]), (.verify, ["accessToken": 5]),
      (.verify, ["accessToken": "a\nb"]), (.validate, [:]), (.validate, ["phoneNumber": nil]),
    ] as [(Phase, JSONValue)])
  func silent(stage: Phase, answer: JSONValue) throws {
    var driven = try stage.driven()
    driven.answered(answer)
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.failure?.provider == ProviderErrorCode(name: phones, code: "10"))
  }

  @Test(
    "an unreadable reply is a protocol error, with TCError 13 for a profile and 10 otherwise",
    arguments: [(.create, 10), (.verify, 10), (.validate, 10), (.profile, 13)]
      as [(Phase, Int)])
  func unreadable(stage: Phase, error: Int) throws {
    let outcomes: [CallOutcome] = [
      .unreadable(message: "too long"), .reply(reply(text: "", status: 302)),
    ]
    // A lenient parser would read the last bodies as a refusal or as the number of another user.
    let bodies = [
      "<html>", "ok", "[1,2]", "null", " ", "{\"code\":4221", "{\"code\":1,\"code\":1}",
      "[{\"code\":4221}]", "{\"phoneNumber\":919999999999,\"coun", "{} {}",
    ].map { CallOutcome.reply(reply(text: $0)) }
    for outcome in outcomes + bodies {
      var driven = try stage.driven()
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.provider?.code == String(error))
    }
  }

  @Test(
    "a Truecaller reply with any code but null is a refusal, whatever type the code has",
    arguments: [true, false, "", [:], [], 0]
      as [JSONValue])
  func codeOfAnyType(code: JSONValue) throws {
    let yes: JSONValue = [
      "code": code, "method": "sms", "verificationToken": "v", "status": 1, "accessToken": "t",
      "phoneNumber": "919876543210",
    ]
    for stage in Phase.calls where stage != .update {
      for generation in [TokenValidation.legacy, .sdk28] {
        var driven = try stage.driven(generation)
        driven.answered(yes)
        #expect(driven.failure?.reason == (stage == .verify ? nil : .providerRejected))
        #expect(driven.problem?.reason == (stage == .verify ? "wrong_code" : nil))
      }
    }
  }

  @Test("Truecaller's own code may be text, and is shown without control characters")
  func words() throws {
    var driven = try DrivenVerification()
    driven.answered(refusal("E\u{1B}[1m-7"), status: 400)
    #expect(driven.failure?.provider?.error == "E[1m-7")
  }
}

@Suite("Truecaller servers that fail or are unreachable")
struct VerifyTroubleTests {
  @Test(
    "an unreachable call is retried five times with growing pauses, then verifyPhone fails",
    arguments: [Phase.create, .validate, .profile])
  func pauses(stage: Phase) throws {
    // A create call is repeated only if it was not sent: a second one would send another SMS.
    let gone = CallOutcome.unreachable(message: "gone", sent: stage != .create)
    var driven = try stage.driven()
    let state = driven.state
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, gone))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.problem?.reason == "provider_unreachable")
      #expect(driven.problem?.provider?.code == "9")
      #expect(driven.state == state)
      #expect(driven.receive(.called(call, .reply(reply([:])))) == .ignore)
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
      #expect(driven.receive(.woken) == .ignore)
    }
    driven.receive(.called(call, gone))
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.provider?.code == "9")
  }

  @Test("a request to Truecaller for a code that certainly sent none is repeated")
  func harmless() throws {
    let outcomes: [CallOutcome] = [
      .unreachable(message: "gone", sent: false), .reply(reply(text: "", status: 429)),
    ]
    var driven = try DrivenVerification()
    let request = driven.last
    for (outcome, seconds) in zip(outcomes + outcomes, [1, 2, 4, 8]) {
      driven.receive(.called(try #require(driven.calls.first), outcome))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.receive(.woken) == request)
    }
  }

  @Test(
    "a Truecaller code request after which a code may have been sent is not repeated",
    arguments: [408, 425, 500])
  func perhapsSent(status: Int) throws {
    var driven = try DrivenVerification()
    driven.answered(.reply(reply(text: "", status: status)))
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.retryable == false)
  }

  @Test(
    "a failure of Truecaller's server has its own code, and its Retry-After sets the pause",
    arguments: [Phase.create, .validate, .update, .profile])
  func server(stage: Phase) throws {
    for (status, body) in [(500, ["code": 500]), (503, [:]), (429, [:])] as [(Int, JSONValue)] {
      // After HTTP 5xx the create call may have sent a code.
      if stage == .create, status != 429 { continue }
      var driven = try stage.driven()
      driven.answered(.reply(reply(body, status: status, headers: ["retry-after": "30"])))
      #expect(driven.last == .proceed([.wake(after: .seconds(30))]))
      #expect(driven.problem?.provider?.code == "10")
      #expect(driven.problem?.provider?.error == (status == 500 ? "500" : nil))
    }
  }

  @Test("the next successful reply clears the problem of an unreachable Truecaller server")
  func cleared() throws {
    var driven = try DrivenVerification()
    let call = try #require(driven.calls.first)
    driven.answered(.unreachable(message: "gone", sent: false))
    driven.receive(.woken)
    driven.receive(.called(call, .reply(reply(DrivenVerification.sent))))
    #expect(driven.problem == nil)
    driven = try Phase.update.driven()
    let update = try #require(driven.calls.first)
    driven.answered(.unreachable(message: "gone", sent: true))
    driven.receive(.woken)
    driven.receive(.called(update, .reply(reply([:]))))
    #expect(driven.state == "verificationComplete")
    #expect(driven.problem == nil)
  }

  @Test(
    "a typed code that certainly did not reach Truecaller's server is sent again, then asked for")
  func notSent() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    let call = try #require(driven.calls.first)
    for seconds in [1, 2, 4, 8, 16] {
      driven.receive(.called(call, .unreachable(message: "gone", sent: false)))
      #expect(driven.last == .proceed([.wake(after: .seconds(seconds))]))
      #expect(driven.state == "verifying")
      #expect(driven.problem?.provider?.code == "9")
      #expect(driven.receive(.woken) == .proceed([.call(call)]))
    }
    driven.receive(.called(call, .unreachable(message: "gone", sent: false)))
    // The person may enter it again when the network is back.
    #expect(driven.failure == nil && driven.state == "otpInitiated")
    #expect(
      driven.problem?.reason == "provider_unreachable" && driven.problem?.provider?.code == "9")
    driven.receive(DrivenVerification.code())
    #expect(driven.calls == [call])
  }

  @Test("a Truecaller code that expires during a retry pause is not sent again")
  func expiresMeanwhile() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    driven.answered(.unreachable(message: "gone", sent: false))
    driven.receive(.woken, at: now + .seconds(90))
    #expect(driven.last == .proceed([]))
    #expect(driven.problem?.reason == "code_expired")
  }

  @Test(
    "a Truecaller code whose check has an unknown outcome is asked for again",
    arguments: [
      (.unreachable(message: "gone", sent: true), "provider_unreachable", "9", nil),
      (.reply(reply(["code": 500], status: 500)), "provider_unreachable", "10", nil),
      (.reply(reply(text: "", status: 408)), "provider_unreachable", "10", nil),
      (.reply(reply(text: "", status: 425)), "provider_unreachable", "10", nil),
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
