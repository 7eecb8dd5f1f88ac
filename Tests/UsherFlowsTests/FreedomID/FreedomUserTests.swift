import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// A createUser flow under test.
typealias CreateFlow = PartnerFlow<FreedomCreateUser>
/// An updateUser flow under test.
typealias UpdateFlow = PartnerFlow<FreedomUpdateUser>

private let partner = KnownAccount(id: Freedom.account, subject: "partner")

extension PartnerFlow where Machine == FreedomCreateUser {
  init(_ change: (inout FreedomCreateUser.Params) -> Void = { $0.phone = "+77011234567" }) throws {
    var params = FreedomCreateUser.Params(.init(), .init())
    change(&params)
    try self.init(params, account: partner)
  }
}

extension PartnerFlow where Machine == FreedomUpdateUser {
  init(_ change: (inout FreedomUpdateUser.Params) -> Void = { $0.freedomId = Freedom.person })
    throws
  {
    var params = FreedomUpdateUser.Params(.init(), .init())
    change(&params)
    try self.init(params, account: partner)
  }
}

@Suite("Freedom ID user management")
struct FreedomUserTests {
  private static let done = Freedom.said(["freedom_id": .string(Freedom.person)])

  @Test("Freedom ID createUser sends every given member and completes with the user's id")
  func created() throws {
    var driven = try CreateFlow {
      $0.phone = "+7 701 123 45 67"
      $0.email = "a@b.kz"
      $0.firstname = "Aigerim"
      $0.lastname = "Omarova"
      $0.dateOfBirth = "1990-02-28"
      $0.identifier = "900228400123"
      $0.country = "KAZ"
      $0.gender = "F"
      $0.nationality = "Kazakh"
    }
    guard case .create(Freedom.account, let user)? = driven.calls.first else {
      Issue.record("the flow does not call createUser")
      return
    }
    #expect(user.phone == "+77011234567" && user.email == "a@b.kz")
    #expect(user.firstname == "Aigerim" && user.lastname == "Omarova")
    #expect(user.dateOfBirth == "1990-02-28" && user.identifier == "900228400123")
    #expect(user.country == "KAZ" && user.gender == "F" && user.nationality == "Kazakh")
    #expect(driven.state == "sending")
    driven.answered(Self.done)
    #expect(
      driven.completion
        == Completion(grant: nil, result: ["freedomId": .string(Freedom.person)]))
  }

  @Test("Freedom ID updateUser sends only the given members of the user")
  func updated() throws {
    var driven = try UpdateFlow {
      $0.freedomId = Freedom.person.uppercased()
      $0.email = "a@b.kz"
    }
    guard case .update(Freedom.account, let id, let user)? = driven.calls.first else {
      Issue.record("the flow does not call updateUser")
      return
    }
    #expect(id == Freedom.person && user.email == "a@b.kz" && user.phone == nil)
    driven.answered(Freedom.said(["freedom_id": .string(Freedom.person.uppercased())]))
    #expect(driven.completion?.result == ["freedomId": .string(Freedom.person)])
  }

  @Test("Freedom ID createUser and updateUser refuse an invalid member without a call and name it")
  func unfit() throws {
    let cases: [(String, (inout FreedomCreateUser.Params) -> Void)] = [
      ("phone", { $0.phone = nil }), ("phone", { $0.phone = "+1" }), ("phone", { $0.phone = "" }),
      ("phone", { $0.phone = "77011234567" }), ("phone", { $0.phone = "+7701555000a" }),
      ("phone", { $0.phone = "+7701555000123456" }),
      ("email", { $0.email = "a" }), ("email", { $0.email = "a@b@c" }),
      ("email", { $0.email = "@b" }), ("email", { $0.email = "a@ b" }),
      ("email", { $0.email = "a@" + String(repeating: "b", count: 253) }),
      ("firstname", { $0.firstname = " " }), ("firstname", { $0.firstname = "a\u{1B}" }),
      ("lastname", { $0.lastname = "" }),
      ("lastname", { $0.lastname = String(repeating: "ä", count: 129) }),
      ("dateOfBirth", { $0.dateOfBirth = "1990-02-29" }),
      ("dateOfBirth", { $0.dateOfBirth = "90-02-28" }),
      ("dateOfBirth", { $0.dateOfBirth = "1990-13-01" }),
      ("dateOfBirth", { $0.dateOfBirth = "28.02.1990" }),
      ("dateOfBirth", { $0.dateOfBirth = "1990-02-28T00:00:00Z" }),
      ("identifier", { $0.identifier = "" }), ("country", { $0.country = "KZ" }),
      ("country", { $0.country = "kaz" }), ("country", { $0.country = "KAZA" }),
      ("country", { $0.country = "Ä1" }), ("country", { $0.country = "К3З" }),
      ("gender", { $0.gender = "X" }), ("gender", { $0.gender = "m" }),
      ("gender", { $0.gender = "" }), ("nationality", { $0.nationality = "\n" }),
    ]
    for (member, change) in cases {
      let driven = try CreateFlow {
        $0.phone = "+77011234567"
        change(&$0)
      }
      #expect(driven.failure?.reason == .invalidRequest)
      #expect(driven.word == "componentValidationError")
      #expect(driven.failure?.message.hasPrefix(member + " ") == true, "\(member)")
      #expect(driven.calls.isEmpty)
    }
    for id in [nil, "", "5f0c1d2e"] {
      let driven = try UpdateFlow { $0.freedomId = id }
      #expect(driven.word == "componentValidationError")
      #expect(driven.failure?.message.hasPrefix("freedomId ") == true)
    }
  }

  @Test(
    "a createUser or updateUser that may have been done is not repeated, and the failure says so")
  func mayHaveTakenEffect() throws {
    for (outcome, word) in [
      (Freedom.lost, "networkError.streamError"),
      (.reply(reply([:], status: 500)), "networkError.codeError"),
      (.reply(reply([:], status: 503)), "networkError.codeError"),
      (.reply(reply([:], status: 408)), "networkError.codeError"),
    ] as [(CallOutcome, String)] {
      var driven = try CreateFlow()
      #expect(driven.flow.isOutcomeUnknown)
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
      #expect(driven.failure?.retryable == false)
      #expect(driven.failure?.message.hasSuffix("whether it was done is not known") == true)
      #expect(driven.word == word)
    }
    var driven = try UpdateFlow()
    try driven.restart()
    #expect(driven.calls.isEmpty)
    #expect(driven.failure?.reason == .providerUnreachable)
    #expect(driven.failure?.message.hasSuffix("whether it was done is not known") == true)
  }

  @Test("Freedom ID updateUser is repeated if it certainly was not done, also after a restart")
  func notDone() throws {
    for outcome in [Freedom.gone, .reply(reply([:], status: 429))] {
      var driven = try UpdateFlow()
      let call = driven.calls
      driven.answered(outcome)
      #expect(!driven.flow.isOutcomeUnknown && driven.timer == .seconds(1))
      driven.receive(.woken)
      #expect(driven.calls == call && driven.flow.isOutcomeUnknown)
      driven.answered(outcome)
      try driven.restart()
      #expect(driven.calls == call && driven.flow.isOutcomeUnknown)
      for _ in 0..<3 {
        driven.answered(outcome)
        driven.receive(.woken)
      }
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
      #expect(driven.failure?.message.contains("not known") == false)
    }
  }

  @Test("a refused Freedom ID createUser fails with the SDK's error code")
  func refused() throws {
    for (outcome, word) in [
      (Freedom.refusal(401), "transmissionError.autheticationError"),
      (Freedom.refusal(200, 100301), "accessDenied"),
      (
        Freedom.said(["error": ["errors": ["phone": ["taken"]]]], status: 422),
        "transmissionError.incorrectRequestStructure"
      ),
      (.noToken(message: "x"), "transmissionError.autheticationError"),
    ] as [(CallOutcome, String)] {
      var driven = try CreateFlow()
      driven.answered(outcome)
      #expect(driven.word == word)
    }
  }

  @Test(
    "Freedom ID createUser and updateUser fail if the reply is unreadable or names another user")
  func unreadable() throws {
    for (json, word) in [
      ([:], "parsingError"), (["freedom_id": 7], "parsingError"),
      (["freedom_id": "x"], "parsingError"),
      (["freedom_id": "5f0c1d2e-0000-4000-8000-000000000002"], "dataProcessingError"),
    ] as [(JSONValue, String)] {
      var driven = try UpdateFlow()
      driven.answered(Freedom.said(json))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.word == word)
      let isUnknown = driven.failure?.message.contains("is not known") == true
      #expect(isUnknown || word != "parsingError")
    }
    var driven = try CreateFlow()
    driven.answered(.unreadable(message: "too large"))
    #expect(driven.word == "transmissionError.requestReceivingError")
    #expect(driven.failure?.message == "too large; whether it was done is not known")
  }
}
