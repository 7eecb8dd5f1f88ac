import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// A flow that requests another person's profile.
typealias ProfileFlow = PartnerFlow<FreedomRequestProfile>

extension PartnerFlow where Machine == FreedomRequestProfile {
  init(
    _ grants: [String] = ["read.firstname", "read.phones"],
    _ change: (inout FreedomRequestProfile.Params) -> Void = { $0.freedomId = Freedom.person },
    settings: (inout FreedomIDSettings) throws -> Void = { _ in }
  ) throws {
    var params = FreedomRequestProfile.Params(grants: grants)
    change(&params)
    try self.init(
      params, account: KnownAccount(id: Freedom.account, subject: "partner"), settings: settings)
  }

  static func completed(_ changes: [String: JSONValue?] = [:]) -> CallOutcome {
    var members: [String: JSONValue] = [
      "request_id": "01020304-0506-4708-890a-0b0c0d0e0f10", "status": "completed",
      "freedom_id": .string(Freedom.person),
      "profile": ["firstname": "Bolat", "phones": [], "lastname": "Sagyn"],
    ]
    for (name, value) in changes { members[name] = value }
    return Freedom.said(.object(members))
  }
}

@Suite("Freedom ID profile requests")
struct FreedomProfileTests {
  private let request = "01020304-0506-4708-890a-0b0c0d0e0f10"

  @Test(
    "requestProfile sends an id of its own, the person and the grants for the partner's account")
  func requested() throws {
    let driven = try ProfileFlow()
    #expect(
      driven.calls == [
        .profile(
          Freedom.account,
          ProfileRequest(
            id: request, createdAt: now, person: .freedomID(Freedom.person),
            grants: [.firstname, .phones]))
      ])
    #expect(driven.state == "requested")
    let byPhone = try ProfileFlow { $0.phone = "+7 (701) 123-45.67" }
    guard case .profile(_, let profile)? = byPhone.calls.first else {
      Issue.record("the flow does not request a profile")
      return
    }
    #expect(profile.person == .phone("+77011234567"))
  }

  @Test("requestProfile needs exactly one person, by UUID or phone number, and only data grants")
  func unfit() throws {
    let cases: [(String, (inout FreedomRequestProfile.Params) -> Void)] = [
      ("freedomId and phone", { _ in }),
      (
        "freedomId and phone",
        {
          $0.phone = "+77011234567"
          $0.freedomId = Freedom.person
        }
      ),
      ("freedomId", { $0.freedomId = "5f0c1d2e" }),
      ("freedomId", { $0.freedomId = "5f0c1d2e000040008000000000000001" }),
      ("freedomId", { $0.freedomId = "5f0c1d2e-0000-4000-8000-00000000000g" }),
      ("freedomId", { $0.freedomId = "5f0c1d2e00004000-8000-0000-000000000001" }),
      ("phone", { $0.phone = "77011234567" }), ("phone", { $0.phone = "+770112345" }),
      ("phone", { $0.phone = "+7701123456789012" }), ("phone", { $0.phone = "+770112345a7" }),
    ]
    for (word, change) in cases {
      let driven = try ProfileFlow(["read.firstname"], change)
      #expect(driven.failure?.reason == .invalidRequest)
      #expect(driven.word == "componentValidationError")
      #expect(driven.failure?.message.contains(word) == true)
      #expect(driven.calls.isEmpty)
    }
    #expect(try ProfileFlow([]).word == "dataGrantsCanNotBeEmpty")
    for word in ["read.profile", "read.cards", "openid", "read.shoe_size"] {
      #expect(try ProfileFlow([word]).word == "componentValidationError")
    }
  }

  @Test("Freedom ID requestProfile polls at the configured interval until the profile is completed")
  func polled() throws {
    var driven = try ProfileFlow(settings: { $0.pollSeconds = 7 })
    driven.answered(Freedom.said(["request_id": .string(request), "status": "pending"]))
    #expect(driven.state == "pending" && driven.timer == .seconds(7))
    for _ in 0..<3 {
      driven.receive(.woken)
      #expect(driven.calls == [.profileStatus(Freedom.account, request: request)])
      driven.answered(Freedom.said(["status": "pending"]))
      #expect(driven.timer == .seconds(7))
    }
    driven.receive(.woken)
    driven.answered(ProfileFlow.completed())
    #expect(
      driven.completion
        == Completion(
          grant: nil,
          result: [
            "requestId": .string(request), "freedomId": .string(Freedom.person),
            "granted": ["read.firstname", "read.phones"],
            "profile": ["firstname": "Bolat", "phones": []],
          ]))
  }

  @Test("Freedom ID requestProfile waits 24 hours for the person, and polls rarely after a while")
  func patient() throws {
    var driven = try ProfileFlow()
    let end = now + .seconds(24 * 3600)
    #expect(driven.flow.endsAt == end)
    driven.answered(Freedom.said(["status": "pending"]))
    driven.clock = now + .seconds(599)
    driven.receive(.woken)
    driven.answered(Freedom.said(["status": "pending"]))
    #expect(driven.timer == .seconds(5))
    driven.clock = now + .seconds(600)
    driven.receive(.woken)
    driven.answered(Freedom.said(["status": "pending"]))
    #expect(driven.timer == .seconds(60))
    try driven.restart()
    #expect(driven.flow.endsAt == end)
    driven.answered(ProfileFlow.completed())
    #expect(driven.completion != nil)
  }

  @Test("Freedom ID requestProfile asks for the profile at once if the request was accepted")
  func accepted() throws {
    var driven = try ProfileFlow()
    driven.answered(Freedom.said(["status": "accepted"]))
    #expect(driven.calls == [.profileStatus(Freedom.account, request: request)])
  }

  @Test("requestProfile completes with the granted members of the profile and names their grants")
  func granted() throws {
    var driven = try ProfileFlow(["read.phone", "read.firstname"])
    driven.answered(Freedom.said(["status": "accepted"]))
    driven.answered(ProfileFlow.completed(["profile": ["phone": nil, "lastname": "Sagyn"]]))
    #expect(driven.completion?.result["granted"] == ["read.phone"])
    #expect(driven.completion?.result["profile"] == ["phone": nil])
  }

  @Test("Freedom ID requestProfile fails if the person or the provider refuses the profile")
  func refused() throws {
    let cases: [(JSONValue, Failure.Reason, String, String)] = [
      (["status": "rejected"], .denied, "accessDenied", "the person does not share the profile"),
      (["status": "rejected", "status_message": "n\u{7}o"], .denied, "accessDenied", "no"),
      (
        ["status": "failed"], .providerRejected, "unknownError", "the profile could not be obtained"
      ),
      (["status": "failed", "status_message": "x"], .providerRejected, "unknownError", "x"),
      (
        ["status": "not_found"], .providerRejected, "unknownError",
        "the provider does not know the request"
      ),
    ]
    for (json, reason, word, message) in cases {
      var driven = try ProfileFlow()
      driven.answered(Freedom.said(["status": "accepted"]))
      driven.answered(Freedom.said(json))
      #expect(driven.failure?.reason == reason)
      #expect(driven.word == word)
      #expect(driven.failure?.message == message)
    }
    var driven = try ProfileFlow()
    driven.answered(Freedom.said(["status": "rejected"]))
    #expect(driven.failure?.reason == .denied)
    for isAsked in [false, true] {
      driven = try ProfileFlow()
      if isAsked { driven.answered(Freedom.said(["status": "accepted"])) }
      driven.answered(Freedom.refusal(200, 777))
      #expect(driven.word == "unknownError" && driven.failure?.provider?.error == "777")
    }
  }

  @Test(
    "requestProfile fails with dataProcessingError if the reply names another person or request")
  func contradiction() throws {
    for changes in [
      ["freedom_id": "5f0c1d2e-0000-4000-8000-000000000002"],
      ["request_id": "11020304-0506-4708-890a-0b0c0d0e0f10"], ["request_id": 7],
    ] as [[String: JSONValue?]] {
      var driven = try ProfileFlow()
      driven.answered(Freedom.said(["status": "accepted"]))
      driven.answered(ProfileFlow.completed(changes))
      #expect(driven.word == "dataProcessingError")
    }
    var driven = try ProfileFlow()
    driven.answered(Freedom.said(["status": "accepted", "request_id": "another"]))
    #expect(driven.word == "dataProcessingError")
  }

  @Test("requestProfile fails with parsingError if a member of the reply is missing or mistyped")
  func unreadable() throws {
    for changes in [
      ["freedom_id": nil], ["profile": nil], ["profile": "x"], ["status": nil],
      ["status": "accepted"], ["status": 1], ["profile": ["firstname": 1]], ["freedom_id": 7],
      ["profile": ["firstname": ["a"]]],
    ] as [[String: JSONValue?]] {
      var driven = try ProfileFlow()
      driven.answered(Freedom.said(["status": "accepted"]))
      driven.answered(ProfileFlow.completed(changes))
      #expect(driven.word == "parsingError", "\(changes)")
    }
    for status in [nil, "completed", "perhaps", 1] as [JSONValue] {
      var driven = try ProfileFlow()
      driven.answered(Freedom.said(["status": status]))
      #expect(driven.word == "parsingError")
    }
  }

  @Test("requestProfile repeats a lost request with the same id, also after a restart, then fails")
  func again() throws {
    var driven = try ProfileFlow()
    let call = driven.calls
    driven.answered(Freedom.lost)
    #expect(driven.timer == .seconds(1))
    driven.receive(.woken)
    #expect(driven.calls == call)
    try driven.restart()
    #expect(driven.calls == call)
    for _ in 0..<4 {
      driven.answered(Freedom.lost)
      driven.receive(.woken)
    }
    driven.answered(Freedom.lost)
    #expect(driven.failure?.reason == .providerUnreachable)
  }

  @Test(
    "Freedom ID requestProfile polls until the flow ends, even if the provider is unreachable")
  func away() throws {
    var driven = try ProfileFlow()
    driven.answered(Freedom.said(["status": "pending"]))
    for _ in 0..<20 {
      driven.receive(.woken)
      driven.answered(.reply(reply([:], status: 503, headers: ["retry-after": "30"])))
      #expect(driven.timer == .seconds(30))
      #expect(driven.flow.view.problem?.reason == "provider_unreachable")
    }
    try driven.restart()
    #expect(driven.calls == [.profileStatus(Freedom.account, request: request)])
    driven.answered(Freedom.said(["status": "pending"]))
    #expect(driven.flow.view.problem == nil)
  }

  @Test("requestProfile asks for a new sign-in without a token, and is rejected with a refused one")
  func noToken() throws {
    for outcome in [
      .noToken(message: "forgotten"), Freedom.refusal(401), Freedom.refusal(401, 100004),
    ] {
      for isPending in [false, true] {
        var driven = try ProfileFlow()
        if isPending { driven.answered(Freedom.said(["status": "accepted"])) }
        driven.answered(outcome)
        let isMissing = outcome == .noToken(message: "forgotten")
        #expect(
          driven.failure?.reason == (isMissing ? .reauthenticationRequired : .providerRejected))
        #expect(driven.word == "transmissionError.autheticationError")
      }
    }
  }
}
