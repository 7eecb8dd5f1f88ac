import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

@Suite("Choice of a verification in Paysafe sca")
struct SCAChoosingTests {
  @Test("Paysafe sca without a wanted verification asks the event and offers the usable ones")
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
        StepOption(id: "OTP.SMS", label: "Code by SMS to +44 ••• 123"),
        StepOption(id: "PIN", label: "PIN"),
      ])
    #expect(driven.wake == .seconds(900))
  }

  @Test("Paysafe sca offers the caller's usable verifications without a call")
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

  @Test("an empty list makes Paysafe sca offer every method, but REDIRECT only with a returnUrl")
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

  @Test("Paysafe sca asks for no choice if one verification is usable or params name one")
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
    "Paysafe sca sends the wanted verification in the provider's spelling (trap 4)",
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

  @Test("Paysafe sca sends the wanted verification in the caller's spelling if the list is empty")
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

  @Test("Paysafe sca fails and names returnUrl if only REDIRECT is left and returnUrl is missing")
  func onlyRedirect() throws {
    let only = [PaysafeSCA.Available(method: "PIN", channel: "REDIRECT")]
    let driven = try DrivenSCA(wanting: nil) { $0.availableVerifications = only }
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("returnUrl") == true)
  }

  @Test("Paysafe sca fails if none of the verifications is usable")
  func nothing() throws {
    let driven = try DrivenSCA(wanting: nil) {
      $0.availableVerifications = [.init(method: "PASSKEYS"), .init(method: "SMOKE")]
    }
    #expect(driven.failure?.reason == .invalidRequest)
    #expect(driven.failure?.message.contains("returnUrl") == false)
  }

  @Test("a choice makes Paysafe sca send the challenge; a choice that is not offered is refused")
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

  @Test(
    "Paysafe sca ends at once with the event's outcome if it is verified, rejected or failed")
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
    "if Paysafe refuses to return the event, sca fails with the server's code",
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
    "an unreadable event reply ends Paysafe sca with provider_protocol_error",
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

  @Test("Paysafe sca repeats the event request after 1, 2, 4, 8 and 16 seconds, then fails")
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

  @Test("Paysafe sca waits as long as Retry-After says and clears its problem afterwards")
  func retryAfter() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(reply(text: "", status: 503, headers: ["retry-after": "30"]))
    #expect(driven.wake == .seconds(30))
    driven.receive(.woken)
    driven.answer(WalletReplies.standing("PENDING"))
    #expect(driven.state == "choosing" && driven.problem == nil)
  }

  @Test("a missing access token ends Paysafe sca with a message about a new log-in (trap 5)")
  func noToken() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(.noToken(message: "the refresh token has expired"))
    #expect(driven.failure?.reason == .reauthenticationRequired)
    #expect(driven.failure?.retryable == true)
    #expect(driven.failure?.message.contains("log-in") == true)
  }

  @Test("Paysafe sca expires with the event while the customer chooses")
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

  @Test("Paysafe sca goes on if the event's expiry is past by this machine's clock")
  func otherClock() throws {
    var driven = try DrivenSCA(wanting: nil)
    driven.answer(WalletReplies.standing("PENDING", ["expirationTime": "2001-01-01T00:00:00Z"]))
    #expect(driven.last == .proceed([]))
    #expect(driven.receive(.woken) == .ignore)
  }
}
