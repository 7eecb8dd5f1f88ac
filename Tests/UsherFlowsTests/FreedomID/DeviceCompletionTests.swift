import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Completion of the Freedom ID device flow")
struct DeviceCompletionTests {
  @Test("the Freedom ID device flow completes with only the granted members of the profile")
  func profile() throws {
    var driven = try Driven.completing()
    driven.answered(
      Driven.profile([
        "profile": [
          "firstname": "Aigerim", "phone": "+77011234567", "lastname": "Extra", "email": "a@b.kz",
        ]
      ]))
    let completion = try #require(driven.completion, "\(driven.last)")
    #expect(
      completion.result == [
        "granted": ["read.firstname", "read.phone"],
        "profile": ["firstname": "Aigerim", "phone": "+77011234567"],
      ])
    let grant = try #require(completion.grant)
    #expect(grant.subject == Driven.subject)
    #expect(grant.label == "+7 ••• 67")
    #expect(grant.profile == ["firstname": "Aigerim", "phone": "+77011234567"])
    #expect(grant.tokens == nil, "the account keeps the tokens of the sign-in")
    #expect(grant.attributes == [:])
    #expect(grant.isByConsent)
    #expect(!grant.keepAlive)
    let year = now + .seconds(365 * 86_400)
    #expect(
      grant.consents == [
        ConsentGrant(grant: "read.firstname", member: "firstname", expiresAt: year),
        ConsentGrant(grant: "read.phone", member: "phone", expiresAt: year),
      ])
  }

  @Test("the Freedom ID device flow stores only the new consents, and stores them for consent_days")
  func consents() throws {
    let grants = ["read.firstname", "read.phone", "read.data_of_birth"]
    var driven = try Driven(
      grants: grants, accounts: [Driven.aigerim],
      provider: Driven.provider { $0.consentDays = 7 })
    driven.answered(Driven.list([Driven.aigerim]))
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents(["read.phone"])))
    driven.say(.granted(["read.phone", "read.date_of_birth"]))
    driven.answered(
      Driven.profile([
        "granted": ["read.phone", "read.date_of_birth"],
        "profile": ["date_of_birth": "2000-01-02"],
      ]), at: now + .seconds(5))
    let completion = try #require(driven.completion)
    #expect(
      completion.result == [
        "granted": ["read.data_of_birth", "read.phone"],
        "profile": ["dateOfBirth": "2000-01-02", "phone": nil],
      ])
    #expect(
      completion.grant?.consents == [
        ConsentGrant(
          grant: "read.data_of_birth", member: "dateOfBirth",
          expiresAt: now + .seconds(5 + 7 * 86_400))
      ])
    #expect(completion.preconditions?.consents == ["read.phone"])
  }

  @Test("the Freedom ID device flow stores no consent if every grant was remembered before")
  func nothingNew() throws {
    var driven = try Driven.recalling()
    driven.receive(.answered(.consents(["read.firstname", "read.phone"])))
    driven.answered(Driven.profile())
    #expect(driven.completion?.grant?.consents == [])
    #expect(driven.completion?.preconditions?.consents == ["read.firstname", "read.phone"])
    #expect(
      driven.completion?.result["granted"] == ["read.firstname", "read.phone"])
  }

  @Test("the Freedom ID device flow completes with fewer members if the provider grants fewer")
  func fewer() throws {
    var driven = try Driven.completing()
    driven.answered(Driven.profile(["granted": ["read.phone"]]))
    #expect(
      driven.completion?.result == [
        "granted": ["read.phone"], "profile": ["phone": "+77011234567"],
      ])
    #expect(driven.completion?.grant?.profile == ["phone": "+77011234567"])
    #expect(driven.completion?.grant?.consents.map(\.grant) == ["read.phone"])
  }

  @Test("the Freedom ID device flow is denied if the provider grants nothing or forbids the access")
  func nothing() throws {
    var driven = try Driven.completing()
    driven.answered(Driven.profile(["granted": []]))
    #expect(driven.failure?.reason == .denied)
    #expect(driven.failure?.message == "the provider grants none of the requested data")
    #expect(driven.failure?.provider?.code == "accessDenied")
    for status in [403, 200] {
      var refused = try Driven.completing()
      refused.refused(status, 100_301, "not this one")
      #expect(
        refused.failure
          == Failure(
            reason: .denied, title: "Permissions denied", message: "not this one",
            retryable: true,
            provider: ProviderErrorCode(
              name: Driven.name, code: "accessDenied", error: "100301", message: "not this one")))
    }
  }

  @Test(
    "the Freedom ID device flow refuses a profile of another account or with unrequested grants")
  func contradictions() throws {
    for changes in [
      ["id": .string(Driven.bolat.subject)], ["id": ""], ["granted": ["read.email"]],
      ["granted": ["read.firstname", "read.secret"]],
      ["granted": ["read.firstname", "read.phone", "read.lastname"]],
    ] as [[String: JSONValue?]] {
      var driven = try Driven.completing()
      driven.answered(Driven.profile(changes))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.provider?.code == "dataProcessingError", "\(changes)")
    }
    var left = try Driven.completing(granted: ["read.firstname"])
    left.answered(Driven.profile())
    #expect(left.failure?.provider?.code == "dataProcessingError", "the phone was not requested")
  }

  @Test("a Freedom ID consent reply with missing or mistyped members fails with parsingError")
  func unusable() throws {
    for changes in [
      ["id": nil], ["id": 7], ["granted": nil], ["granted": "read.phone"], ["granted": [7]],
      ["granted": ["read.firstname", nil]], ["profile": nil], ["profile": []],
      ["profile": ["firstname": 7]], ["profile": ["firstname": ["a"]]],
      ["profile": ["firstname": .string(String(repeating: "a", count: 1025))]],
    ] as [[String: JSONValue?]] {
      var driven = try Driven.completing()
      driven.answered(Driven.profile(changes))
      #expect(driven.failure?.reason == .providerProtocolError)
      #expect(driven.failure?.provider?.code == "parsingError", "\(changes)")
    }
  }

  @Test("a Freedom ID consent request without a usable reply is repeated five times, then fails")
  func retries() throws {
    let outcomes: [(CallOutcome, String)] = [
      (Driven.gone, "networkError.connectionError"), (Driven.lost, "networkError.streamError"),
      (.reply(reply([:], status: 500)), "networkError.codeError"),
      (.reply(reply([:], status: 429)), "networkError.codeError"),
    ]
    for (outcome, word) in outcomes {
      var driven = try Driven.completing()
      let first = driven.last
      for pause in [1, 2, 4, 8, 16] {
        #expect(driven.answered(outcome) == .proceed([.wake(after: .seconds(pause))]))
        #expect(driven.state == "completion")
        #expect(driven.problem?.reason == "provider_unreachable")
        #expect(driven.problem?.provider?.code == word)
        #expect(driven.answered(Driven.profile()) == .ignore)
        #expect(driven.receive(.woken) == first)
        #expect(driven.receive(.woken) == .ignore)
      }
      var ends = driven
      ends.answered(outcome)
      #expect(ends.failure?.reason == .providerUnreachable)
      #expect(ends.failure?.provider?.code == word)
      driven.answered(Driven.profile())
      #expect(driven.completion != nil)
    }
    var asked = try Driven.completing()
    asked.answered([:], status: 503, headers: ["retry-after": "30"])
    #expect(asked.last == .proceed([.wake(after: .seconds(30))]))
  }

  @Test("a restored Freedom ID device flow repeats the same consent request")
  func restart() throws {
    for isPaused in [false, true] {
      var driven = try Driven.completing()
      let first = driven.last
      if isPaused { driven.answered(Driven.lost) }
      try driven.restart()
      #expect(driven.last == first)
      driven.answered(Driven.profile())
      #expect(driven.completion != nil)
    }
  }

  @Test("the Freedom ID device flow ignores replies to calls that it did not make")
  func others() throws {
    var driven = try Driven.completing()
    let before = driven.flow
    for call in [
      FreedomDeviceCall.consent(
        AccountID("acc_2"), [.firstname, .phone], request: "r", device: installation),
      .accounts(device: installation), .renewal(Secret("r")),
    ] {
      driven.receive(.called(call, .reply(reply(Driven.profile()))))
      #expect(driven.last == .ignore)
      #expect(driven.flow == before)
    }
  }

  private static let untied: [CallOutcome] = [
    .noToken(message: "no token"), .reply(DeviceDriven.refusal(401, 100_004, "bad token")),
  ]

  @Test(
    "the Freedom ID device flow asks once for a new sign-in if the account is no longer linked",
    arguments: untied)
  func signInAgain(outcome: CallOutcome) throws {
    var driven = try Driven.completing()
    #expect(driven.answered(outcome) == .proceed([]))
    #expect(driven.state == "authentication")
    #expect(driven.step == (try Driven.choosing()).step)
    #expect(driven.problem?.reason == "signed_out")
    #expect(
      driven.problem?.provider
        == ProviderErrorCode(name: Driven.name, code: "transmissionError.autheticationError"))
    var back = driven
    back.say(.back(.choose))
    guard case .choose(let choice) = back.step else { return #expect(Bool(false)) }
    #expect(choice.options.map(\.id) == ["acc_2", "other"])

    driven.signIn(.phonePassword)
    driven.receive(.answered(.stored(Driven.aigerim.id)))
    driven.say(.choice("acc_1"))
    driven.prove()
    driven.receive(.answered(.consents([])))
    driven.say(.granted(["read.firstname", "read.phone"]))
    var good = driven
    good.answered(Driven.profile())
    #expect(good.completion != nil)
    try driven.restart()
    driven.answered(outcome)
    #expect(driven.failure?.reason == .providerRejected)
    #expect(driven.failure?.message == "the provider accepts no token of this log-in")
    let said = ProviderErrorCode(
      name: Driven.name, code: "transmissionError.autheticationError", error: "100004",
      message: "bad token")
    #expect(
      driven.failure?.provider
        == (outcome == Self.untied[0]
          ? ProviderErrorCode(name: Driven.name, code: "transmissionError.autheticationError")
          : said))
  }

  @Test("a named Freedom ID account that is no longer linked leaves only its own new sign-in")
  func namedAgain() throws {
    var driven = try Driven.home(account: Driven.aigerim)
    driven.prove()
    driven.receive(.answered(.consents(["read.firstname", "read.phone"])))
    driven.refused(401, 100_004)
    #expect(driven.problem?.reason == "signed_out")
    driven.say(.back(.choose))
    #expect(driven.refusedField == "input.back")
  }

  @Test("the Freedom ID device flow reports each failure reason with the SDK's error code")
  func words() {
    for reason in Failure.Reason.allCases {
      let word: String? =
        switch reason {
        case .cancelled, .expired: "userCanceled"
        case .providerRejected: "configurationError"
        case .denied: "accessDenied"
        default: nil
        }
      let said = FreedomDeviceAuthorize.providerErrorCode(for: reason, provider: Driven.name)
      #expect(said == word.map { ProviderErrorCode(name: Driven.name, code: $0) }, "\(reason)")
    }
  }
}
