import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

@Suite("Truecaller verifyPhone after a restart")
struct VerifyRestartTests {
  @Test(
    "a restarted usherd repeats an unsent Truecaller code request; one in progress fails the flow")
  func creating() throws {
    var driven = try DrivenVerification()
    let request = driven.last
    driven.answered(.unreachable(message: "gone", sent: false))
    try driven.restart()
    #expect(driven.last == request)
    try driven.restart()
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.provider?.code == "9")
  }

  @Test("a restarted usherd keeps the rest of a Truecaller code's TTL")
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
    #expect(driven.state == "verifying")
  }

  @Test("a usherd restarted during Truecaller's check of a code asks for the code again")
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

  @Test("Truecaller verifyPhone writes the typed name even if the reply to its code was lost")
  func nameOfLostCode() throws {
    let later = now + .seconds(90)
    for isKilled in [false, true] {
      var driven = try DrivenVerification(provider: truecaller { $0.validation = .sdk28 })
      driven.toVerify()
      if isKilled {
        try driven.restart()
      } else {
        driven.answered(.unreachable(message: "gone", sent: true))
      }
      try driven.restart()
      driven.receive(.input(.resend), at: later)
      driven.answered(["accessToken": "otp-access-secret", "status": 1], at: later)
      driven.answered(["phoneNumber": "919876543210"])
      #expect(driven.state == "verifiedBefore")
      guard case .update(let name, _, accessToken: otpToken) = driven.calls.first else {
        return #expect(Bool(false), "\(driven.last)")
      }
      #expect(name.first.unsealed() == Secret("Asha"))
      driven.answered([:])
      #expect(driven.state == "verifiedBefore")
      driven.answered(DrivenVerification.profile)
      #expect(driven.completion?.grant?.attributes["verifiedBefore"] == true)
    }
  }

  @Test(
    "a restarted usherd repeats Truecaller's validation, name or profile call without a new code")
  func admitted() throws {
    for stage in [Phase.validate, .store, .update, .profile] {
      var driven = try stage.driven()
      let last = driven.last
      let state = driven.state
      try driven.restart()
      #expect(driven.last == last)
      #expect(driven.state == state)
      if stage == .store { continue }
      driven.answered(.unreachable(message: "gone", sent: true))
      try driven.restart()
      #expect(driven.last == last)
    }
  }
}
