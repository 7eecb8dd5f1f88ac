import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// The account is kept if a call fails after the number was verified.
@Suite("Accounts that verifyPhone keeps although the profile fails")
struct KeptTokenTests {
  private func standing(at stage: Phase) throws -> DrivenVerification {
    var driven = try stage.driven()
    driven.keeps = false
    return driven
  }

  /// Expects that the account is kept, and that the flow then fails with the TCError `code`.
  private func expectKept(_ driven: DrivenVerification, _ code: String, _ comment: Comment) throws {
    var driven = driven
    #expect(driven.failure == nil, comment)
    let grant = try #require(driven.kept, comment)
    #expect(grant.subject == "+919876543210" && grant.label == "+91 ••• 210", comment)
    #expect(grant.tokens?.accessToken.unsealed() == otpToken, comment)
    #expect(grant.profile == nil, comment)
    #expect(driven.state == "verificationComplete", comment)
    // The daemon may crash before it reports the kept account.
    try driven.restart()
    #expect(driven.kept == grant, comment)
    driven.receive(.answered(.stored(AccountID("acc_1"))))
    #expect(driven.failure?.provider?.code == code, comment)
  }

  @Test("an unreadable or refused profile keeps the account, then fails Truecaller verifyPhone")
  func profile() throws {
    for (outcome, code) in [
      (.reply(reply(["code": 8], status: 404)), "10"), (.reply(reply(["code": 8])), "10"),
      (.reply(reply(["code": 8], status: 403)), "11"), (.reply(reply(text: "<html>")), "13"),
      (.unreadable(message: "too long"), "13"),
    ] as [(CallOutcome, String)] {
      var driven = try standing(at: .profile)
      driven.answered(outcome)
      try expectKept(driven, code, "\(outcome)")
    }
  }

  @Test("a refused name keeps the account, then fails Truecaller verifyPhone")
  func name() throws {
    for (outcome, code) in [
      (.reply(reply(["code": 4221], status: 422)), "13"), (.reply(reply(["code": 4221])), "13"),
      (.reply(reply(text: "{\"code\":4221")), "10"),
    ] as [(CallOutcome, String)] {
      var driven = try standing(at: .update)
      driven.answered(outcome)
      try expectKept(driven, code, "\(outcome)")
    }
  }

  @Test(
    "Truecaller verifyPhone keeps the account even if the provider is unreachable",
    arguments: [Phase.update, .profile])
  func away(stage: Phase) throws {
    var driven = try standing(at: stage)
    for _ in 0..<5 {
      driven.answered(.unreachable(message: "gone", sent: true))
      driven.receive(.woken)
    }
    driven.answered(.unreachable(message: "gone", sent: true))
    try expectKept(driven, "9", "\(stage)")
  }

  @Test("a signature that cannot be checked keeps the account, then fails Truecaller verifyPhone")
  func keyless() throws {
    var driven = try standing(at: .profile)
    let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()
    driven.answered(["payload": .string(payload), "signature": "AA=="])
    driven.receive(.idTokenVerified(.keyless(message: "no key")))
    try expectKept(driven, "10", "keyless")
  }

  @Test(
    "a verifyPhone that is abandoned before its profile keeps the account, and only once",
    arguments: [Phase.update, .profile])
  func abandoned(stage: Phase) throws {
    var driven = try standing(at: stage)
    for isPaused in [false, true] {
      if isPaused { driven.answered(.unreachable(message: "gone", sent: true)) }
      let kept = try #require(driven.flow.grantIfAbandoned)
      let grant = try #require(kept.grant)
      #expect(grant.subject == "+919876543210")
      #expect(grant.tokens?.accessToken.unsealed() == otpToken)
      #expect(grant.attributes["profilePending"] == true && grant.isPartial)
      #expect(kept.message.contains("without another code"))
    }
    driven.receive(.woken)
    driven.answered(["code": 8], status: 404)
    #expect(driven.kept != nil && driven.flow.grantIfAbandoned == nil)
  }

  @Test("a Truecaller verifyPhone that is abandoned before its token is validated keeps no account")
  func abandonedEarly() throws {
    for stage in [Phase.create, .verify, .validate] {
      #expect(try standing(at: stage).flow.grantIfAbandoned == nil)
    }
  }

  @Test("Truecaller verifyPhone's outcome is unknown only during the request for an SMS")
  func dark() throws {
    var driven = try DrivenVerification()
    #expect(
      driven.flow.isOutcomeUnknown
        && driven.flow.unknownOutcome == "an SMS may have been sent all the same")
    driven.answered(.unreachable(message: "gone", sent: false))
    #expect(!driven.flow.isOutcomeUnknown)
    driven.receive(.woken)
    #expect(driven.flow.isOutcomeUnknown)
    for stage in Phase.allCases where stage != .create {
      #expect(try !standing(at: stage).flow.isOutcomeUnknown)
    }
  }

  @Test("Truecaller verifyPhone keeps no token that is not valid or is of another number")
  func dropped() throws {
    var validated = try standing(at: .validate)
    validated.answered(["code": 404], status: 404)
    var refused = try standing(at: .profile)
    refused.answered(["code": 4011], status: 401)
    var other = try standing(at: .profile)
    other.answered(["phoneNumber": "919876543211"])
    var forged = try standing(at: .profile)
    forged.answered(["payload": "eA==", "signature": "AA=="])
    forged.receive(.idTokenVerified(.refused(message: "wrong")))
    for driven in [validated, refused, other, forged] {
      #expect(driven.failure != nil && driven.kept == nil)
    }
  }

  @Test("the failure of a kept Truecaller account's profile says that the number is verified")
  func message() throws {
    var driven = try Phase.profile.driven()
    driven.answered(["code": 8, "message": "not now"], status: 404)
    #expect(driven.failure?.message.hasPrefix("not now; the number is verified") == true)
  }
}

@Suite("Kept Truecaller accounts whose profile is pending")
struct PendingProfileTests {
  private let account = AccountID("acc_7")

  private func begun(
    subject: String = "+919876543210", attributes: [String: JSONValue] = ["profilePending": true]
  ) throws -> DrivenVerification {
    try DrivenVerification(origin: {
      $0.accounts = [NamedAccount(id: account, subject: subject, label: "+91 ••• 210")]
      $0.accountAttributes = [account: attributes]
    })
  }

  @Test("Truecaller verifyPhone reads a pending profile without asking for a code")
  func profile() throws {
    var driven = try begun()
    #expect(driven.last == .proceed([.call(.keptProfile(try phone(), account))]))
    #expect(driven.calls.first?.account == account && driven.state == "creating")
    try driven.restart()
    driven.answered(DrivenVerification.profile)
    #expect(driven.state == "verifiedBefore")
    let completion = try #require(driven.completion)
    #expect(completion.result["profile"]?["firstName"] == "Asha")
    #expect(completion.grant?.tokens == nil && completion.grant?.label == "Asha Rao")
    #expect(completion.grant?.attributes["profilePending"] == .some(.null))
    #expect(completion.preconditions == .init(account: account, consents: []))
  }

  @Test("Truecaller verifyPhone asks for a code if the kept token is no longer valid")
  func gone() throws {
    for outcome in [
      CallOutcome.noToken(message: "dead"), .reply(reply(["code": 4011], status: 401)),
    ] {
      var driven = try begun()
      driven.answered(outcome)
      #expect(driven.calls == [.create(try phone(), installation: installation)])
      driven.toCode()
      #expect(driven.state == "otpInitiated")
    }
  }

  @Test(
    "a pending profile that fails again fails Truecaller verifyPhone and keeps no second account")
  func again() throws {
    for isAway in [true, false] {
      var driven = try begun()
      for _ in 0..<6 where driven.failure == nil {
        if driven.calls.isEmpty { driven.receive(.woken) }
        driven.answered(
          isAway ? .unreachable(message: "gone", sent: true) : .reply(reply([:], status: 404)))
      }
      #expect(driven.failure?.provider?.code == (isAway ? "9" : "10"))
      #expect(driven.kept == nil && driven.state == "verifiedBefore")
    }
  }

  @Test("a pending profile of another number fails Truecaller verifyPhone with TCError 15")
  func other() throws {
    var driven = try begun()
    driven.answered(["phoneNumber": "919876543211"])
    #expect(driven.failure?.provider?.code == "15")
  }

  @Test("a pending Truecaller profile is read only for its own number and while it is pending")
  func others() throws {
    for driven in [
      try begun(subject: "+919876543211"), try begun(attributes: [:]),
      try begun(attributes: ["profilePending": false]),
    ] {
      #expect(driven.calls == [.create(try phone(), installation: installation)])
    }
  }
}
