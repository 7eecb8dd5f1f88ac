import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// The account is stored with its token before the flow says that the number is verified, and stays
/// if a call fails after that.
@Suite("Accounts that verifyPhone keeps although the profile fails")
struct KeptTokenTests {
  private func standing(at stage: Phase) throws -> DrivenVerification {
    var driven = try stage.driven()
    driven.keeps = false
    return driven
  }

  /// Expects that the account was stored before the flow failed with the TCError `code`.
  private func expectKept(_ driven: DrivenVerification, _ code: String, _ comment: Comment) throws {
    #expect(driven.failure?.provider?.code == code, comment)
    #expect(driven.state == "verificationComplete", comment)
    #expect(driven.stored.count == 1, comment)
    let grant = try #require(driven.stored.first, comment)
    #expect(grant.subject == "+919876543210" && grant.label == "+91 ••• 210", comment)
    #expect(grant.tokens?.accessToken.unsealed() == otpToken, comment)
    #expect(grant.profile == nil && grant.isPartial, comment)
    #expect(
      grant.attributes == ["countryCode": "IN", "verifiedBefore": false, "profilePending": true],
      comment)
  }

  @Test("Truecaller verifyPhone is verified only after the account is stored, also after a restart")
  func order() throws {
    var driven = try standing(at: .store)
    #expect(driven.state == "otpReceived")
    let kept = try #require(driven.kept)
    #expect(driven.last == .proceed([.store(kept)]))
    try driven.restart()
    #expect(driven.last == .proceed([.store(kept)]) && driven.state == "otpReceived")
    driven.receive(.answered(.stored(AccountID("acc_1"))))
    #expect(driven.state == "verificationComplete" && driven.calls.first?.name == "profile_update")
    #expect(driven.receive(.answered(.stored(AccountID("acc_1")))) == .ignore)
  }

  @Test("Truecaller verifyPhone stores the account together with the state verifiedBefore")
  func verifiedBefore() throws {
    var driven = try DrivenVerification()
    driven.keeps = false
    driven.answered(["accessToken": "otp-access-secret", "status": 1])
    #expect(driven.state == "verifiedBefore")
    #expect(driven.kept?.tokens?.accessToken.unsealed() == otpToken)
    #expect(driven.kept?.attributes["verifiedBefore"] == true)
    driven.receive(.answered(.stored(AccountID("acc_1"))))
    driven.answered(["code": 8], status: 404)
    #expect(driven.failure?.provider?.code == "10" && driven.state == "verifiedBefore")
  }

  @Test(
    "an unreadable, refused or foreign profile fails Truecaller verifyPhone, and the account stays")
  func profile() throws {
    for (outcome, code) in [
      (.reply(reply(["code": 8], status: 404)), "10"), (.reply(reply(["code": 8])), "10"),
      (.reply(reply(["code": 8], status: 403)), "11"), (.reply(reply(text: "<html>")), "13"),
      (.reply(reply(["code": 4011], status: 401)), "11"), (.unreadable(message: "too long"), "13"),
      (.reply(reply(["phoneNumber": "919876543211"])), "15"),
      (.reply(reply(["payload": "eA==", "signature": ""])), "15"),
    ] as [(CallOutcome, String)] {
      var driven = try standing(at: .profile)
      driven.answered(outcome)
      try expectKept(driven, code, "\(outcome)")
    }
  }

  @Test("an unreachable profile fails Truecaller verifyPhone, and the account stays")
  func away() throws {
    var driven = try standing(at: .profile)
    for _ in 0..<5 {
      driven.answered(.unreachable(message: "gone", sent: true))
      driven.receive(.woken)
    }
    driven.answered(.unreachable(message: "gone", sent: true))
    try expectKept(driven, "9", "unreachable")
  }

  @Test("a signature that is wrong or cannot be checked fails verifyPhone, and the account stays")
  func signature() throws {
    let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()
    for (verdict, code) in [
      (.keyless(message: "no key"), "10"), (.refused(message: "wrong"), "15"),
    ] as [(IDTokenVerdict, String)] {
      var driven = try standing(at: .profile)
      driven.answered(["payload": .string(payload), "signature": "AA=="])
      driven.receive(.idTokenVerified(verdict))
      try expectKept(driven, code, "\(code)")
    }
  }

  @Test("Truecaller verifyPhone stores no account while nothing shows that the token is valid")
  func abandonedEarly() throws {
    for stage in [Phase.create, .verify, .validate] {
      let driven = try standing(at: stage)
      #expect(driven.stored.isEmpty && driven.flow.grantIfAbandoned == nil)
      #expect(!["verificationComplete", "verifiedBefore"].contains(driven.state))
    }
    for (body, status) in [(["code": 404], 404), (["phoneNumber": "919876543211"], 200)]
      as [(JSONValue, Int)]
    {
      var driven = try Phase.validate.driven()
      driven.answered(body, status: status)
      #expect(driven.failure != nil && driven.stored.isEmpty && driven.state == "otpReceived")
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
    for stage in Phase.allCases where stage != .create && stage != .store {
      #expect(try !standing(at: stage).flow.isOutcomeUnknown)
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

  @Test("Truecaller verifyPhone asks for a code if the kept token gets no profile")
  func gone() throws {
    for outcome in [
      CallOutcome.noToken(message: "dead"), .reply(reply(["code": 4011], status: 401)),
      .reply(reply([:], status: 403)), .reply(reply([:], status: 404)),
      .unreadable(message: "no JSON"),
    ] {
      var driven = try begun()
      driven.answered(outcome)
      #expect(driven.calls == [.create(try phone(), installation: installation)])
      driven.toCode()
      #expect(driven.state == "otpInitiated")
    }
  }

  @Test(
    "a pending profile that cannot be reached again fails verifyPhone and keeps no second account")
  func again() throws {
    var driven = try begun()
    for _ in 0..<6 where driven.failure == nil {
      if driven.calls.isEmpty { driven.receive(.woken) }
      driven.answered(.unreachable(message: "gone", sent: true))
    }
    #expect(driven.failure?.provider?.code == "9")
    #expect(driven.kept == nil && driven.state == "verifiedBefore")
  }

  @Test("Truecaller verifyPhone asks for a code if the kept token's profile is not of the number")
  func other() throws {
    var foreign = try begun()
    foreign.answered(["phoneNumber": "919876543211"])
    var forged = try begun()
    forged.answered(["payload": "eA==", "signature": "AA=="])
    forged.receive(.idTokenVerified(.refused(message: "wrong")))
    for driven in [foreign, forged] {
      #expect(driven.calls == [.create(try phone(), installation: installation)])
      #expect(driven.state == "creating")
    }
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
