import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherFlows

@Suite("sca: which verification")
struct SCAChoosingTests {
  @Test("where nobody said, the event is asked about; what cannot be done is not offered")
  func required() throws {
    var driven = try DrivenSCA(wanting: nil)
    #expect(driven.state == "required")
    #expect(driven.flow.view.step.kind == .wait)
    #expect(driven.flow.view.key == "evt-1")
    #expect(driven.isAsking)
    driven.answer(WalletReplies.standing("PENDING"))
    #expect(driven.state == "choosing")
    #expect(driven.choice?.what == .verification)
    #expect(
      driven.choice?.options == [
        Option(id: "OTP.SMS", label: "Code by SMS to +44 ••• 123"), Option(id: "PIN", label: "PIN"),
      ])
    #expect(driven.wake == .seconds(900))
  }

  @Test("the caller's own list costs no question; with a returnUrl REDIRECT is offered too")
  func callersList() throws {
    let driven = try DrivenSCA(wanting: nil) {
      $0.availableVerifications = [
        .init(method: "OTP", channel: "EMAIL", target: "a•••\u{1B}@x"),
        .init(method: "PASSKEYS"), .init(method: "UNHEARD_OF"), .init(method: "BIOMETRIC"),
        .init(method: "PIN", channel: "REDIRECT"), .init(method: "OTP", channel: "EMAIL"),
        .init(method: "BIOMETRIC", channel: "PUSH_NOTIFICATION", target: "phone"),
        .init(method: "AUTHENTICATOR"), .init(method: "PASSWORD"),
      ]
      $0.returnUrl = WalletReplies.returnURL
      $0.operation = Operation(summary: "Pay", amount: "1 EUR", payee: "Bakery")
    }
    #expect(driven.calls.isEmpty)
    #expect(
      driven.choice?.options.map(\.label) == [
        "Code by e-mail to a•••@x", "Confirmation in the browser",
        "Confirmation on another device (phone)", "Code of the authenticator app", "Password",
      ])
    #expect(
      driven.options == [
        "OTP.EMAIL", "PIN.REDIRECT", "BIOMETRIC.PUSH_NOTIFICATION", "AUTHENTICATOR", "PASSWORD",
      ])
    #expect(driven.choice?.operation?.payee == "Bakery")
  }

  @Test("an empty list means any agreed method; REDIRECT only where there is a way back")
  func anyAgreed() throws {
    let ids = [
      "OTP.SMS", "OTP.EMAIL", "OTP.AUTHENTICATOR", "PIN", "PASSWORD", "PUSH_NOTIFICATION",
    ]
    var driven = try DrivenSCA(wanting: nil) { $0.availableVerifications = [] }
    #expect(driven.options == ids)
    driven = try DrivenSCA(wanting: nil) {
      $0.availableVerifications = []
      $0.returnUrl = WalletReplies.returnURL
    }
    #expect(driven.options == ids + ["BIOMETRIC.REDIRECT"])
    driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("PENDING", ["availableVerifications": nil]))
    #expect(driven.options == ids)
  }

  @Test("of one verification nobody is asked, nor where the caller has said")
  func noQuestion() throws {
    let one = try DrivenSCA(wanting: nil) {
      $0.availableVerifications = [.init(method: "PASSKEYS"), .init(method: "PIN")]
    }
    #expect(one.challenge == .pin)
    let said = try DrivenSCA(wanting: .sms)
    #expect(said.challenge == .sms)
    #expect(said.state == "challenging")
    #expect(said.flow.view.step.kind == .wait)
  }

  @Test(
    "trap 4: what the caller means is asked for as the provider spells it",
    arguments: [
      (
        .push, ["BIOMETRIC", "PUSH_NOTIFICATION"],
        .init(method: "BIOMETRIC", channel: "PUSH_NOTIFICATION")
      ),
      (.init(method: "OTP", channel: "PUSH_NOTIFICATION"), ["PUSH_NOTIFICATION", nil], .push),
      (
        .init(method: "AUTHENTICATOR"), ["OTP", "AUTHENTICATOR"],
        .init(method: "OTP", channel: "AUTHENTICATOR")
      ),
      (
        .init(method: "OTP", channel: "AUTHENTICATOR"), ["AUTHENTICATOR", nil],
        .init(method: "AUTHENTICATOR")
      ),
    ] as [(PaysafeCall.Verification, [String?], PaysafeCall.Verification)])
  func spelling(
    asked: PaysafeCall.Verification, offered: [String?], sent: PaysafeCall.Verification
  ) throws {
    let driven = try DrivenSCA(wanting: asked) {
      $0.availableVerifications = [
        .init(method: "PIN"), .init(method: offered[0] ?? "", channel: offered[1]),
      ]
    }
    #expect(driven.challenge == sent)
  }

  @Test("where any will do, it is asked for as the caller spells it")
  func ownSpelling() throws {
    for asked in [
      PaysafeCall.Verification(method: "PIN", channel: "REDIRECT"),
      .init(method: "OTP", channel: "PUSH_NOTIFICATION"),
    ] {
      let driven = try DrivenSCA(wanting: asked) {
        $0.availableVerifications = []
        $0.returnUrl = WalletReplies.returnURL
      }
      #expect(driven.challenge == asked)
    }
    let channel = try DrivenSCA(wanting: .init(method: "AUTHENTICATOR"))
    #expect(channel.challenge == .init(method: "OTP", channel: "AUTHENTICATOR"))
  }

  @Test("where only REDIRECT is left and no way back, the flow fails and names returnUrl")
  func onlyRedirect() throws {
    let only = [PaysafeSCA.Available(method: "PIN", channel: "REDIRECT")]
    let driven = try DrivenSCA(wanting: nil) { $0.availableVerifications = only }
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("returnUrl") == true)
  }

  @Test("where nothing can be done here, the flow fails")
  func nothing() throws {
    let driven = try DrivenSCA(wanting: nil) {
      $0.availableVerifications = [.init(method: "PASSKEYS"), .init(method: "SMOKE")]
    }
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("returnUrl") == false)
  }

  @Test("a choice sends the challenge; one that is not offered is refused and changes nothing")
  func choice() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("PENDING"))
    let before = driven.flow
    for id in ["PASSKEYS", "BIOMETRIC.REDIRECT", "", "otp.sms", "SMS"] {
      driven.submit(.choice(id))
      #expect(driven.refusedField == "input.id")
      #expect(driven.flow == before)
    }
    driven.submit(.choice("PIN"))
    #expect(driven.challenge == .pin)
  }

  @Test("an event that is settled already needs nothing more")
  func settled() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("VERIFIED"))
    #expect(driven.result?["status"] == "VERIFIED")
    for (status, reason) in [
      ("REJECTED", .denied), ("FAILED", .attemptsExhausted),
    ] as [(JSONValue, Failure.Reason)] {
      driven = try DrivenSCA(wanting: nil)
      driven.answer(WalletReplies.standing(status))
      #expect(driven.failure?.reason == reason)
    }
  }

  @Test(
    "an event that cannot be had ends it",
    arguments: [
      (404, "SCA_EVENT_NOT_FOUND", .providerRejected), (410, "EVENT_EXPIRED", .expired),
      (403, "", .providerRejected), (401, "", .providerRejected), (400, "X", .providerRejected),
    ] as [(Int, String, Failure.Reason)])
  func refused(status: Int, code: String, reason: Failure.Reason) throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.refusal(status, code))
    #expect(driven.failure?.reason == reason)
    #expect(driven.failure?.provider?.code == (code.isEmpty ? "http_\(status)" : code))
  }

  @Test(
    "an answer that cannot be read ends it",
    arguments: [
      reply(text: "{"), reply([]), reply([:]), WalletReplies.standing("MAYBE"),
      WalletReplies.standing("PENDING", ["eventId": "evt-2"]),
      WalletReplies.standing("PENDING", ["walletOperationId": "wop-2"]),
      WalletReplies.standing("PENDING", ["availableVerifications": [1, [:]]]),
      WalletReplies.standing("PENDING", ["availableVerifications": "PIN"]),
      reply([:], status: 302), reply([:], status: 100),
    ])
  func unreadable(reply: HTTPReply) throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(reply)
    #expect(driven.failure?.reason == .providerProtocolError)
  }

  @Test("a provider that is away is asked again after 1, 2, 4, 8 and 16 seconds, then it ends")
  func away() throws {
    for outcome in [
      WalletReplies.gone, WalletReplies.unsent, .reply(reply(text: "", status: 503)),
      .reply(reply(text: "", status: 429)), .reply(reply(text: "", status: 408)),
    ] {
      var driven = try DrivenSCA(wanting: nil)
      driven.waitOutFive(outcome)
      driven.answer(outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
    }
  }

  @Test("it waits as long as Retry-After says, and a provider that came back leaves no problem")
  func retryAfter() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(reply(text: "", status: 503, headers: ["retry-after": "30"]))
    #expect(driven.wake == .seconds(30))
    driven.receive(.woken)
    driven.answer(WalletReplies.standing("PENDING"))
    #expect(driven.state == "choosing" && driven.problem == nil)
  }

  @Test("trap 5: an account whose grant is dead needs a new log-in, and the flow says so")
  func noToken() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(.noToken(message: "the refresh token has expired"))
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.retryable == true)
    #expect(driven.failure?.message.contains("log-in") == true)
  }

  @Test("an event whose time is over while the person chooses ends the flow")
  func expiry() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("PENDING"))
    driven.clock = now + .seconds(899)
    driven.receive(.woken)
    #expect(driven.wake == .seconds(1))
    driven.clock = now + .seconds(900)
    driven.receive(.woken)
    #expect(driven.failure?.reason == .expired)
  }

  @Test("an expiry that was over before it was told is another clock's: it ends nothing")
  func otherClock() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("PENDING", ["expirationTime": "2001-01-01T00:00:00Z"]))
    #expect(driven.last == .proceed([]))
    #expect(driven.receive(.woken) == .ignore)
  }
}
