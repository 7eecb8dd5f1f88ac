import JSONRPC
import Testing
import UsherAPI
import UsherCore

@testable import UsherFlows

/// The customer asks for another challenge while one is open (SDK documentation, "Handle SCA
/// Challenges", step 1).
@Suite("Another challenge in place of an open one in Paysafe sca")
struct SCAChangeTests {
  private static let methods: [PaysafeSCA.Available] = [
    .init(method: "OTP", channel: "SMS"), .init(method: "OTP", channel: "EMAIL"),
    .init(method: "PUSH_NOTIFICATION"), .init(method: "PIN"),
  ]

  @Test("a push of Paysafe sca is sent again on request")
  func pushAgain() throws {
    var driven = try DrivenSCA.pushed()
    #expect(driven.wait?.resendAt == now)
    driven.submit(.resend(at: .wait))
    #expect(driven.challenge == .push && driven.state == "challenging")
    driven.answer(WalletReplies.challenge(["verification": ["method": "PUSH_NOTIFICATION"]]))
    #expect(driven.state == "challenged" && driven.wait != nil)
  }

  @Test("a page of Paysafe sca is requested again on request, and the new one is shown")
  func pageAgain() throws {
    var driven = try DrivenSCA.redirected()
    driven.submit(.resend(at: .openURL))
    #expect(driven.challenge == .redirect)
    let second = "https://wallet.example.com/approve/2"
    driven.answer(
      WalletReplies.challenge([
        "verification": [
          "method": "BIOMETRIC", "channel": "REDIRECT", "action": ["redirectUrl": .string(second)],
        ]
      ]))
    #expect(driven.page?.url == second)
  }

  /// Chooses the code by e-mail in place of the open challenge.
  private func chooseEmail(_ driven: inout DrivenSCA, instead offered: [StepOption]?) {
    let ids = offered?.map(\.id) ?? []
    #expect(ids.contains("OTP.EMAIL") && ids.count == 3)
    driven.submit(.alternative("OTP.EMAIL", at: driven.flow.view.step.kind))
    #expect(driven.challenge == .init(method: "OTP", channel: "EMAIL"))
    driven.answer(WalletReplies.challenge(["verification": ["method": "OTP", "channel": "EMAIL"]]))
    #expect(driven.code?.channel == "email")
  }

  @Test("a customer who waits for an SMS can choose another method of Paysafe sca")
  func alternatives() throws {
    var driven = try DrivenSCA.challenged { $0.availableVerifications = Self.methods }
    chooseEmail(&driven, instead: driven.code?.alternatives)
  }

  @Test("a customer who waits for a push can choose another method of Paysafe sca")
  func alternativesToPush() throws {
    var driven = try DrivenSCA(wanting: .push) { $0.availableVerifications = Self.methods }
    driven.answer(WalletReplies.challenge(["verification": ["method": "PUSH_NOTIFICATION"]]))
    chooseEmail(&driven, instead: driven.wait?.alternatives)
  }

  @Test("a method that Paysafe sca does not offer is refused, and the challenge stays open")
  func unknownAlternative() throws {
    var driven = try DrivenSCA.pushed()
    let before = driven.flow.view
    guard case .refuse(field: "input.alternative", _) = driven.submit(.alternative("X", at: .wait))
    else {
      Issue.record("the alternative was not refused")
      return
    }
    #expect(driven.flow.view == before)
  }

  @Test("a push that cannot be sent again leaves Paysafe sca waiting for the first one")
  func refusedAgain() throws {
    for refusal in [
      WalletReplies.refusal(403, ""), WalletReplies.refusal(429, "", retryAfter: "9"),
    ] {
      var driven = try DrivenSCA.pushed()
      driven.submit(.resend(at: .wait))
      driven.answer(refusal)
      #expect(driven.failure == nil && driven.wait != nil && driven.problem != nil)
      driven.receive(.woken)
      driven.answer(WalletReplies.standing("VERIFIED"))
      #expect(driven.result?["status"] == "VERIFIED")
    }
  }

  @Test("a push whose resend was lost is not sent a third time by Paysafe sca itself")
  func lostAgain() throws {
    var driven = try DrivenSCA.pushed()
    driven.submit(.resend(at: .wait))
    driven.answer(WalletReplies.gone)
    driven.receive(.woken)
    driven.answer(WalletReplies.standing("PENDING", ["currentChallenges": nil]))
    #expect(driven.challenge == nil && driven.wait != nil)
    #expect(driven.problem?.reason == "may_have_been_sent")
  }

  @Test("a restart while another challenge replaces a push lets Paysafe sca ask for its fate")
  func restart() throws {
    var driven = try DrivenSCA.pushed()
    driven.submit(.resend(at: .wait))
    try driven.restart()
    #expect(driven.isAsking)
    driven.answer(WalletReplies.standing("VERIFIED"))
    #expect(driven.result?["status"] == "VERIFIED")
  }

  @Test("the steps of Paysafe sca for PIN and password show the attempts that are left")
  func attemptsLeft() throws {
    var driven = try DrivenSCA.withPIN()
    #expect(driven.password?.attemptsLeft == 3)
    driven.submit(.password(Secret("2468")))
    driven.answer(WalletReplies.verdict("FAILED"))
    #expect(driven.password?.attemptsLeft == 2)
  }

  @Test("a flow of Paysafe sca about a challenge that was sent elsewhere sends none")
  func sentElsewhere() throws {
    var driven = try DrivenSCA(wanting: .sms) { $0.isChallenged = true }
    #expect(driven.calls.isEmpty && driven.code?.operationId == "wop-1")
    driven.enter()
    driven.answer(WalletReplies.verdict("VERIFIED"))
    #expect(driven.result?["status"] == "VERIFIED")
    for verification in [nil, PaysafeCall.Verification.push] {
      #expect(throws: UsherError.self) {
        try DrivenSCA(wanting: verification) { $0.isChallenged = true }
      }
    }
  }
}

extension DrivenWallet {
  var wait: Step.Wait? {
    if case .wait(let step) = flow.view.step { step } else { nil }
  }
}
