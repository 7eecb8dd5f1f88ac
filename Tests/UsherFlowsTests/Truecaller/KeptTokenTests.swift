import FoundationEssentials
import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

/// The number is verified; what comes after it fails.
@Suite("A token whose profile fails")
struct KeptTokenTests {
  private func kept(_ driven: DrivenVerification) -> AccountGrant? {
    guard case .proceed(let effects) = driven.last else { return nil }
    return effects.compactMap { if case .keep(let grant) = $0 { grant } else { nil } }.first
  }

  /// The account is kept, and then the flow fails with this TCError.
  private func expectKept(_ driven: DrivenVerification, _ code: String, _ comment: Comment) throws {
    var driven = driven
    #expect(driven.failure == nil, comment)
    let grant = try #require(kept(driven), comment)
    #expect(grant.subject == "+919876543210" && grant.label == "+91 ••• 210", comment)
    #expect(grant.tokens?.accessToken.unsealed() == otpToken, comment)
    #expect(grant.profile == nil, comment)
    #expect(driven.state == "verificationComplete", comment)
    // The daemon may die before it is told.
    try driven.restart()
    #expect(kept(driven) == grant, comment)
    driven.receive(.told(.kept(AccountID("acc_1"))))
    #expect(driven.failure?.provider?.code == code, comment)
  }

  @Test("is kept where the profile cannot be read, however it is said")
  func profile() throws {
    for (outcome, code) in [
      (.reply(reply(["code": 8], status: 404)), "10"), (.reply(reply(["code": 8])), "10"),
      (.reply(reply(["code": 8], status: 403)), "11"), (.reply(reply(text: "<html>")), "13"),
      (.unreadable(message: "too long"), "13"),
    ] as [(CallOutcome, String)] {
      var driven = try Stage.profile.driven()
      driven.answered(outcome)
      try expectKept(driven, code, "\(outcome)")
    }
  }

  @Test("is kept where the name is refused")
  func name() throws {
    for (outcome, code) in [
      (.reply(reply(["code": 4221], status: 422)), "13"), (.reply(reply(["code": 4221])), "13"),
      (.reply(reply(text: "{\"code\":4221")), "10"),
    ] as [(CallOutcome, String)] {
      var driven = try Stage.update.driven()
      driven.answered(outcome)
      try expectKept(driven, code, "\(outcome)")
    }
  }

  @Test("is kept where the provider is away for too long", arguments: [Stage.update, .profile])
  func away(stage: Stage) throws {
    var driven = try stage.driven()
    for _ in 0..<5 {
      driven.answered(.unreachable(message: "gone", sent: true))
      driven.receive(.woken)
    }
    driven.answered(.unreachable(message: "gone", sent: true))
    try expectKept(driven, "9", "\(stage)")
  }

  @Test("is kept where nobody can say whether the profile's signature is right")
  func keyless() throws {
    var driven = try Stage.profile.driven()
    let payload = Data(DrivenVerification.profile.encoded()).base64EncodedString()
    driven.answered(["payload": .string(payload), "signature": "AA=="])
    driven.receive(.idTokenVerified(.keyless(message: "no key")))
    try expectKept(driven, "10", "keyless")
  }

  @Test("is not kept where it is not validated, refused, or speaks of somebody else")
  func dropped() throws {
    var validated = try Stage.validate.driven()
    validated.answered(["code": 404], status: 404)
    var refused = try Stage.profile.driven()
    refused.answered(["code": 4011], status: 401)
    var other = try Stage.profile.driven()
    other.answered(["phoneNumber": "919876543211"])
    var forged = try Stage.profile.driven()
    forged.answered(["payload": "eA==", "signature": "AA=="])
    forged.receive(.idTokenVerified(.refused(message: "wrong")))
    for driven in [validated, refused, other, forged] {
      #expect(driven.failure != nil && kept(driven) == nil)
    }
  }
}
