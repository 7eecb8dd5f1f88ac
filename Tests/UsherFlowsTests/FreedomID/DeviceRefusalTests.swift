import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Refused sign-ins of the Freedom ID device flow")
struct DeviceRefusalTests {
  @Test("a refused Freedom ID password does not tell whether the name or the password was wrong")
  func wrongCredentials() throws {
    var told: [Problem] = []
    for way in [Driven.Way.emailPassword, .phonePassword] {
      for sentence in ["no such user", "wrong password", ""] {
        for status in [401, 200] {
          var driven = try Driven.knocking(way)
          #expect(driven.refused(status, 100_201, sentence) == .proceed([]))
          #expect(driven.step == .enterPassword(.init(purpose: "login")))
          told.append(try #require(driven.problem))
        }
      }
    }
    #expect(
      told.allSatisfy {
        $0
          == Problem(
            reason: "wrong_credentials", title: "Not signed in",
            message: "the user name or the password is wrong",
            provider: ProviderErrorCode(name: Driven.name, code: "authError", error: "100201"))
      })
    #expect(told.count == 12)
  }

  @Test("a refused Freedom ID password may be entered again with the same name")
  func again() throws {
    var driven = try Driven.knocking()
    driven.refused(401, 100_201)
    driven.say(.password(Secret("another")))
    let call = FreedomDeviceCall.password(
      Driven.emailName, password: Secret("another"), device: installation)
    #expect(driven.calls == [call])
    #expect(driven.problem == nil)
    driven.answered(Driven.login())
    #expect(driven.kept != nil)
  }

  @Test("a wrong Freedom ID code shows how many attempts the provider says are left")
  func wrongCode() throws {
    for (left, sentence) in [
      (2, "; 2 attempts left"), (1, "; 1 attempt left"), (0, "; 0 attempts left"),
    ] {
      for start in [try Driven.checking(), try Driven.checkingSecond()] {
        var driven = start
        driven.refused(422, 100_202, "bad", after: nil, ["attempts_left": .integer(Int64(left))])
        #expect(
          driven.problem
            == Problem(
              reason: "wrong_code", title: "Wrong code",
              message: "the provider does not accept this code\(sentence)",
              provider: ProviderErrorCode(
                name: Driven.name, code: "authError", error: "100202", message: "bad")))
        #expect(driven.codeStep?.attemptsLeft == left)
      }
    }
  }

  @Test("a wrong Freedom ID code keeps the known number of attempts unless the reply has a new one")
  func attemptsElsewhere() throws {
    var driven = try Driven.checking()
    driven.refused(422, 100_202)
    #expect(driven.codeStep?.attemptsLeft == 3)
    driven.say(.code(Driven.code, fields: [:]))
    driven.answered(["error": ["code": 100_202], "attempts_left": 1], status: 422)
    #expect(driven.codeStep?.attemptsLeft == 1)
    var uncounted = try Driven.coded(["attempts_left": nil])
    uncounted.say(.code(Driven.code, fields: [:]))
    uncounted.refused(422, 100_202)
    #expect(uncounted.codeStep?.attemptsLeft == nil)
    #expect(uncounted.problem?.message == "the provider does not accept this code")
  }

  @Test("a Freedom ID code that is entered after its expiry is reported as expired without a call")
  func expiredHere() throws {
    for start in [try Driven.coded(), try Driven.second()] {
      var driven = start
      let step = driven.step
      driven.say(.code(Driven.code, fields: [:]), at: now + .seconds(300))
      #expect(driven.last == .proceed([]))
      #expect(driven.problem?.reason == "code_expired")
      #expect(driven.step == step)
      driven.say(.code(Driven.code, fields: [:]), at: now + .seconds(299))
      #expect(driven.calls.count == 1)
    }
  }

  @Test("a Freedom ID code that the provider calls expired may be resent at once")
  func expiredThere() throws {
    for start in [try Driven.checking(), try Driven.checkingSecond()] {
      var driven = start
      driven.refused(410, 100_203)
      #expect(driven.last == .proceed([]))
      #expect(driven.problem?.reason == "code_expired")
      #expect(driven.codeStep?.expiresAt == now)
      #expect(driven.codeStep?.resendAt == now)
      driven.say(.code(Driven.code, fields: [:]))
      #expect(driven.problem?.reason == "code_expired")
      #expect(driven.calls == [])
      driven.say(.resend)
      #expect(driven.calls.count == 1)
    }
  }

  @Test("a late reply about an expired Freedom ID code does not postpone its known expiry")
  func expiredLate() throws {
    var driven = try Driven.checking()
    driven.answered(.reply(Driven.refusal(410, 100_203)), at: now + .seconds(600))
    #expect(driven.codeStep?.expiresAt == now + .seconds(300))
    #expect(driven.codeStep?.resendAt == now + .seconds(60))
  }

  @Test("a Freedom ID resend before its time makes no call and tells how long to wait")
  func tooEarlyHere() throws {
    var driven = try Driven.coded()
    let step = driven.step
    driven.say(.resend, at: now + .seconds(59))
    #expect(driven.last == .proceed([]))
    #expect(
      driven.problem
        == Problem(
          reason: "too_early", title: "Too early",
          message: "another code can be requested a little later", retryAfterMs: 1000))
    #expect(driven.step == step)
    driven.say(.resend, at: now + .seconds(60))
    #expect(
      driven.last == .proceed([.call(.resend(challenge: "ch-1", device: installation))]))
    #expect(driven.step == .wait(.init(for: "the code to be sent")))
    #expect(driven.problem == nil)
  }

  @Test("a too early Freedom ID code request keeps the step, for the first code and for a resend")
  func tooEarlyThere() throws {
    var first = try Driven.named(.phoneOTP)
    first.refused(429, 100_205, after: 30)
    #expect(first.problem?.reason == "too_early")
    #expect(first.problem?.retryAfterMs == 30_000)
    #expect(first.step == (try Driven.form(.phoneOTP)).step)
    var again = try Driven.coded()
    again.say(.resend, at: now + .seconds(60))
    again.refused(429, 100_205)
    #expect(again.problem?.reason == "too_early")
    #expect(again.problem?.retryAfterMs == nil)
    #expect(again.codeStep?.digits == 6)
  }

  @Test("a resent Freedom ID code replaces the first one and keeps its purpose")
  func resent() throws {
    for start in [try Driven.coded(), try Driven.second()] {
      var driven = start
      let purpose = driven.codeStep?.purpose
      driven.say(.resend, at: now + .seconds(60))
      driven.answered(
        Driven.challenge("ch-9", ["digits": 4, "expire_at": "2027-01-15T08:10:00Z"]))
      #expect(driven.codeStep?.purpose == purpose)
      #expect(driven.codeStep?.digits == 4)
      #expect(driven.codeStep?.expiresAt == now + .seconds(600))
      driven.say(.code(Secret("1234"), fields: [:]))
      switch (purpose, driven.calls.first) {
      case (.otp, .otpCheck("ch-9", code: _, device: _)): break
      case (.twoFactor, .twoFactor("ch-9", code: _, device: _)): break
      default: #expect(Bool(false), "\(driven.last)")
      }
    }
  }

  @Test("a Freedom ID resend of an expired challenge leads back to the expired code")
  func resendUnknown() throws {
    var driven = try Driven.coded()
    driven.say(.resend, at: now + .seconds(60))
    driven.answered(.reply(Driven.refusal(410, 100_203)), at: now + .seconds(60))
    #expect(driven.problem?.reason == "code_expired")
    #expect(driven.codeStep?.expiresAt == now + .seconds(60))
    var checked = try Driven.knocking()
    checked.refused(410, 100_203)
    #expect(checked.failure?.reason == .providerRejected)
  }

  @Test("a locked Freedom ID sign-in fails and tells how long it is locked")
  func locked() throws {
    for start in [
      try Driven.named(.phoneOTP), try Driven.checking(), try Driven.knocking(),
      try Driven.checkingSecond(), try Driven.resending(),
    ] {
      var driven = start
      driven.refused(423, 100_204, "locked", after: 900)
      #expect(
        driven.failure
          == Failure(
            reason: .attemptsExhausted, title: "Locked",
            message: "locked: try again in 900 seconds", retryable: true,
            provider: ProviderErrorCode(
              name: Driven.name, code: "authError", error: "100204", message: "locked")))
    }
  }

  @Test("a rate-limited Freedom ID sign-in stays at its step and tells how long to wait")
  func busy() throws {
    for start in [
      try Driven.named(.phoneOTP), try Driven.checking(), try Driven.knocking(),
      try Driven.checkingSecond(), try Driven.resending(),
    ] {
      for (after, milliseconds) in [(nil, nil), (5, 5000)] {
        var driven = start
        driven.refused(429, nil, after: after)
        #expect(driven.last == .proceed([]))
        #expect(driven.problem?.reason == "rate_limited")
        #expect(driven.problem?.retryAfterMs == milliseconds)
        #expect(driven.isAsking)
      }
    }
  }

  @Test("any other Freedom ID refusal ends the flow with the provider's message and the SDK's code")
  func others() throws {
    let refusals: [(Int, Int?, Failure.Reason, String)] = [
      (401, 100_001, .providerRejected, "incorrectApiKey"),
      (401, 100_002, .providerRejected, "transmissionError.identificationError"),
      (200, 100_002, .providerRejected, "transmissionError.identificationError"),
      (403, 100_003, .providerRejected, "transmissionError.appIntegrityError"),
      (401, 100_004, .providerRejected, "transmissionError.autheticationError"),
      (422, 100_101, .providerRejected, "authError"),
      (403, 100_301, .denied, "accessDenied"), (404, nil, .providerRejected, "unknownError"),
      (400, 7, .providerRejected, "unknownError"),
    ]
    for (status, code, reason, word) in refusals {
      for start in [
        try Driven.named(.phoneOTP), try Driven.checking(), try Driven.knocking(),
        try Driven.checkingSecond(), try Driven(), try Driven.completing(),
      ] {
        guard code != 100_004 || start.state != "completion" else { continue }
        var driven = start
        driven.refused(status, code, "never")
        #expect(driven.failure?.reason == reason)
        #expect(driven.failure?.message == "never")
        #expect(
          driven.failure?.provider
            == ProviderErrorCode(
              name: Driven.name, code: word, error: code.map { String($0) }, message: "never"))
      }
    }
  }

  @Test("a Freedom ID error code in the reply to the wrong kind of call is an unknownError")
  func misplaced() throws {
    var driven = try Driven.knocking()
    driven.refused(422, 100_202)
    #expect(driven.failure?.provider?.code == "unknownError")
    var home = try Driven()
    home.refused(401, 100_201)
    #expect(home.failure?.provider?.code == "unknownError")
  }

  @Test(
    "an unusable success reply ends the Freedom ID sign-in with provider_protocol_error",
    arguments: [200, 201])
  func unusable(status: Int) throws {
    let answers: [(JSONValue, String)] = [
      ([:], "parsingError"), ([1], "networkError.bodyError"),
      (Driven.challenge("", [:]), "parsingError"),
      (Driven.login(Driven.aigerim, ["access_token": nil]), "parsingError"),
      (Driven.login(Driven.aigerim, ["access_token": "a b"]), "parsingError"),
      (Driven.login(Driven.aigerim, ["access_expire_at": "soon"]), "parsingError"),
      (Driven.login(Driven.aigerim, ["access_expire_at": 7]), "parsingError"),
      (Driven.login(Driven.aigerim, ["account": ["label": "x"]]), "parsingError"),
      (Driven.login(Driven.aigerim, ["account": ["id": ""]]), "parsingError"),
      (Driven.login(Driven.aigerim, ["account": ["id": "a b"]]), "parsingError"),
      (["two_factor": ["digits": 6]], "parsingError"),
    ]
    for (answer, word) in answers {
      for start in [try Driven.checking(), try Driven.knocking(), try Driven.checkingSecond()] {
        var driven = start
        driven.answered(answer, status: status)
        #expect(driven.failure?.reason == .providerProtocolError, "\(answer)")
        #expect(driven.failure?.provider?.code == word)
      }
    }
  }

  @Test(
    "a Freedom ID challenge needs an id, a length of 4 to 10 digits and an expiry",
    arguments: [
      ["challenge_id": nil], ["challenge_id": 7], ["challenge_id": ""],
      ["challenge_id": .string(String(repeating: "x", count: 257))], ["digits": nil],
      ["digits": 3], ["digits": 11], ["digits": "6"], ["expire_at": nil],
      ["expire_at": 1_800_000_300], ["expire_at": "never"],
    ] as [[String: JSONValue?]])
  func badChallenge(changes: [String: JSONValue?]) throws {
    var first = try Driven.named(.phoneOTP)
    first.answered(Driven.challenge("ch-1", changes))
    #expect(first.failure?.reason == .providerProtocolError)
    #expect(first.failure?.provider?.code == "parsingError")
    var driven = try Driven.knocking()
    driven.answered(["two_factor": Driven.challenge("ch-1", changes)])
    #expect(driven.failure?.provider?.code == "parsingError")
  }

  @Test("a Freedom ID challenge may lack the channel, the target, the resend time and the attempts")
  func sparseChallenge() throws {
    let driven = try Driven.coded([
      "channel": nil, "masked_target": nil, "resend_at": nil, "attempts_left": -1,
    ])
    let step = try #require(driven.codeStep)
    #expect(step.channel == "sms")
    #expect(step.maskedTarget == "")
    #expect(step.resendAt == now + .seconds(300))
    #expect(step.attemptsLeft == nil)
    let wild = try Driven.coded(["channel": "\u{1B}sms", "masked_target": "a\u{7}b"])
    #expect(wild.codeStep?.channel == "sms")
    #expect(wild.codeStep?.maskedTarget == "ab")
  }
}

extension DeviceDriven {
  var codeStep: Step.EnterCode? {
    if case .enterCode(let step) = step { step } else { nil }
  }

  /// Whether the step asks the user for input.
  var isAsking: Bool {
    if case .wait = step { false } else { true }
  }

  /// A flow that checks the code of the second factor.
  static func checkingSecond() throws -> DeviceDriven {
    var driven = try second()
    driven.say(.code(code, fields: [:]))
    return driven
  }

  /// A flow that requests a resend.
  static func resending() throws -> DeviceDriven {
    var driven = try coded()
    driven.say(.resend, at: now + .seconds(60))
    return driven
  }
}
