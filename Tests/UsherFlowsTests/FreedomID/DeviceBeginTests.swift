import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Start of the Freedom ID device flow")
struct DeviceBeginTests {
  @Test("the Freedom ID device flow starts by requesting the accounts linked to the installation")
  func begins() throws {
    let driven = try Driven(apiKey: "api-key-secret")
    #expect(driven.last == .proceed([.call(.accounts(device: installation))]))
    #expect(driven.state == "accountCheck")
    #expect(driven.step == .wait(.init(for: "the accounts of this device")))
    #expect(driven.problem == nil)
  }

  @Test("the Freedom ID device flow without grants fails with dataGrantsCanNotBeEmpty")
  func emptyGrants() throws {
    for key in [nil, "api-key-secret", "another"] {
      let driven = try Driven(grants: [], apiKey: key)
      let failure = try #require(driven.failure)
      #expect(failure.reason == .invalidRequest)
      #expect(failure.message == "grants must name at least one")
      #expect(!failure.retryable)
      #expect(
        failure.provider == ProviderErrorCode(name: Driven.name, code: "dataGrantsCanNotBeEmpty"))
    }
  }

  @Test(
    "the Freedom ID device flow reports a wrong API key before an unknown grant",
    arguments: ["", "Api-key-secret"])
  func otherKey(key: String) throws {
    for grants in [["read.firstname"], ["no.grant"]] {
      let driven = try Driven(grants: grants, apiKey: key)
      let failure = try #require(driven.failure)
      #expect(failure.reason == .invalidRequest)
      #expect(!failure.retryable)
      #expect(failure.message == "the apiKey is not the one configured for this provider")
      #expect(failure.provider == ProviderErrorCode(name: Driven.name, code: "incorrectApiKey"))
    }
  }

  @Test(
    "the Freedom ID device flow fails on an unknown grant and names it",
    arguments: [
      "read.secret", "read.profile", "read.cards", "openid", "", "READ.FIRSTNAME",
      " read.firstname", "firstname",
    ])
  func unknownGrant(text: String) throws {
    let driven = try Driven(grants: ["read.firstname", text])
    let failure = try #require(driven.failure)
    #expect(failure.reason == .invalidRequest)
    let shown = text.split(separator: " ").joined()
    #expect(failure.message == "grant \"\(shown)\" does not exist")
    #expect(
      failure.provider == ProviderErrorCode(name: Driven.name, code: "componentValidationError"))
  }

  @Test("the message about an unknown Freedom ID grant has no control characters and is cut")
  func wildGrant() throws {
    let long = String(repeating: "x", count: 500)
    let driven = try Driven(grants: ["\u{1B}[2J\(long)"])
    let message = try #require(driven.failure?.message)
    #expect(!message.contains("\u{1B}"))
    #expect(message.utf8.count < 150)
  }

  @Test("the Freedom ID device flow leaves a credential that is not set for the daemon to report")
  func noCredential() throws {
    let driven = try Driven(apiKey: "api-key-secret", credential: nil)
    #expect(driven.last == .proceed([.call(.accounts(device: installation))]))
  }

  @Test("a refused Freedom ID device flow fails with the same failure after a restart")
  func refusedAgain() throws {
    var driven = try Driven(grants: [])
    let failure = driven.failure
    #expect(driven.state == "accountCheck")
    driven.receive(.woken)
    #expect(driven.last == .ignore)
    try driven.restart()
    #expect(driven.failure == failure)
  }

  @Test(
    "the Freedom ID device flow asks for each grant once, in table order and in one spelling",
    arguments: [
      (["read.phone", "read.firstname"], ["read.firstname", "read.phone"]),
      (["read.phone", "read.phone"], ["read.phone"]),
      (["read.date_of_birth", "read.data_of_birth"], ["read.data_of_birth"]),
      (["read.date_of_birth"], ["read.data_of_birth"]),
      (DataGrant.allCases.reversed().map(\.rawValue), DataGrant.allCases.map(\.rawValue)),
    ])
  func grants(asked: [String], step: [String]) throws {
    let driven = try Driven.permissions(grants: asked)
    guard case .consent(let consent) = driven.step else {
      return #expect(Bool(false), "\(driven.step)")
    }
    #expect(consent.grants.map(\.id) == step)
  }
}

@Suite("Account check of the Freedom ID device flow")
struct DeviceAccountCheckTests {
  @Test("the Freedom ID device flow asks for a sign-in if no account of the owner is linked")
  func nobody() throws {
    let lists: [([NamedAccount], [NamedAccount])] = [
      ([], []), ([Driven.aigerim], []), ([], [Driven.aigerim]), ([Driven.aigerim], [Driven.bolat]),
    ]
    for (ours, theirs) in lists {
      var driven = try Driven(accounts: ours)
      #expect(driven.answered(Driven.list(theirs)) == .proceed([]))
      #expect(driven.state == "authentication")
      driven.say(.back(.choose))
      #expect(driven.refusedField == "input.back")
    }
  }

  @Test("the Freedom ID device flow offers linked accounts, oldest first, with the daemon's labels")
  func both() throws {
    var driven = try Driven(accounts: [Driven.aigerim, Driven.bolat])
    let third = NamedAccount(id: AccountID("acc_3"), subject: "3", label: "third")
    var theirs = Driven.aigerim
    theirs.label = "theirs"
    driven.answered(Driven.list([third, Driven.bolat, theirs]))
    #expect(driven.state == "home")
    #expect(
      driven.step
        == .choose(
          .init(
            what: .account,
            options: [
              StepOption(id: "acc_1", label: "+7 ••• 67"),
              StepOption(id: "acc_2", label: "+7 ••• 99"),
              StepOption(id: "other", label: "Another account"),
            ])))
    var one = try Driven(accounts: [Driven.aigerim, Driven.bolat])
    one.answered(Driven.list([Driven.bolat]))
    guard case .choose(let choice) = one.step else { return #expect(Bool(false)) }
    #expect(choice.options.map(\.id) == ["acc_2", "other"])
  }

  @Test("a Freedom ID account list with an error of null is accepted")
  func nullError() throws {
    var driven = try Driven(accounts: [Driven.aigerim])
    driven.answered(["accounts": [["id": .string(Driven.subject)]], "error": nil])
    #expect(driven.state == "home" && driven.failure == nil)
  }

  @Test("entries without a usable id in a Freedom ID account list are skipped")
  func oddEntries() throws {
    var driven = try Driven(accounts: [Driven.aigerim])
    driven.answered(["accounts": [7, [:], ["id": 1], ["id": .string(Driven.subject)]]])
    #expect(driven.state == "home")
  }

  @Test(
    "a Freedom ID account list without an accounts array fails with parsingError",
    arguments: [
      ["a": 1], ["accounts": nil], ["accounts": "none"], ["accounts": [:]],
    ] as [JSONValue])
  func noAccounts(answer: JSONValue) throws {
    var driven = try Driven()
    driven.answered(answer)
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.failure?.provider?.code == "parsingError")
  }

  @Test("the Freedom ID account check is repeated after 1, 2, 4, 8 and 16 seconds, then fails")
  func retries() throws {
    let outcomes: [(CallOutcome, String)] = [
      (Driven.gone, "networkError.connectionError"), (Driven.lost, "networkError.streamError"),
      (.reply(reply([:], status: 503)), "networkError.codeError"),
      (.reply(reply([:], status: 408)), "networkError.codeError"),
      (.reply(reply([:], status: 425)), "networkError.codeError"),
      (.reply(reply([:], status: 429)), "networkError.codeError"),
    ]
    for (outcome, word) in outcomes {
      var driven = try Driven()
      for pause in [1, 2, 4, 8, 16] {
        #expect(driven.answered(outcome) == .proceed([.wake(after: .seconds(pause))]))
        #expect(driven.problem?.reason == "provider_unreachable")
        #expect(driven.problem?.provider?.code == word)
        #expect(driven.answered(Driven.list([])) == .ignore, "no call is in progress")
        #expect(driven.receive(.woken) == .proceed([.call(.accounts(device: installation))]))
        #expect(driven.receive(.woken) == .ignore)
      }
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
      #expect(driven.failure?.retryable == true)
      #expect(driven.failure?.provider?.code == word)
    }
  }

  @Test("the Freedom ID account check waits as long as Retry-After asks, from 1 s to 2 minutes")
  func retryAfter() throws {
    for (asked, pause) in [(0, 1), (7, 7), (900, 120)] {
      var driven = try Driven()
      driven.answered([:], status: 503, headers: ["retry-after": "\(asked)"])
      #expect(driven.last == .proceed([.wake(after: .seconds(pause))]))
    }
  }

  @Test("the Freedom ID account check clears its problem once the provider answers")
  func recovers() throws {
    var driven = try Driven()
    driven.answered(Driven.gone)
    driven.receive(.woken)
    driven.answered(Driven.list([]))
    #expect(driven.state == "authentication")
    #expect(driven.problem == nil)
  }

  @Test("a restored Freedom ID device flow repeats the account check, even between two retries")
  func restart() throws {
    var driven = try Driven()
    let first = driven.last
    try driven.restart()
    #expect(driven.last == first)
    driven.answered(Driven.gone)
    try driven.restart()
    #expect(driven.last == first)
    #expect(driven.answered(Driven.list([])) == .proceed([]))
  }
}

@Suite("Means of local authentication of the Freedom ID device flow")
struct DeviceMeansTests {
  private func asking(
    _ means: LocalAuthAvailability?, accounts: [NamedAccount] = []
  ) throws -> Driven {
    var driven = try Driven(accounts: accounts, means: means)
    driven.answered(Driven.list(accounts))
    return driven
  }

  @Test("the Freedom ID device flow asks for the passcode first, and for a reader only without one")
  func questions() throws {
    var driven = try asking(nil)
    #expect(driven.last == .proceed([.ask(.localAuth(.passcodeAvailability))]))
    #expect(driven.state == "accountCheck" && driven.problem == nil)
    try driven.restart()
    #expect(driven.last == .proceed([.ask(.localAuth(.passcodeAvailability))]))
    driven.answer(.availability(.init(biometric: .noReader, passcode: .notEnrolled)))
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    try driven.restart()
    #expect(driven.last == .proceed([.ask(.localAuth(.availability))]))
    driven.answer(
      .availability(.init(biometric: .ready(hasChanged: false), passcode: .notEnrolled)))
    #expect(driven.last == .proceed([]) && driven.state == "authentication")
  }

  @Test(
    "without a finger and a passcode the Freedom ID device flow fails before the log-in and home",
    arguments: [LocalAuthAvailability.Biometric.noReader, .notEnrolled, .unavailable("no bus")])
  func none(biometric: LocalAuthAvailability.Biometric) throws {
    for accounts in [[], [Driven.aigerim]] {
      let driven = try asking(
        .init(biometric: biometric, passcode: .notEnrolled), accounts: accounts)
      let failure = try #require(driven.failure)
      #expect(failure.reason == .localAuthFailed)
      #expect(failure.provider?.code == "configurationError")
      #expect(failure.provider?.error == "PASSCODE_NOT_ENROLLED_DEVICE")
      #expect(failure.message.hasSuffix("run: usherctl local passcode"))
    }
  }

  @Test(
    "a reader or passcode that is locked for a time does not end the Freedom ID device flow early",
    arguments: [
      LocalAuthAvailability(biometric: .lockedOut(until: now), passcode: .notEnrolled),
      LocalAuthAvailability(biometric: .noReader, passcode: .lockedOut(until: now)),
    ])
  func later(means: LocalAuthAvailability) throws {
    #expect(try asking(means).state == "authentication")
    #expect(try asking(means, accounts: [Driven.aigerim]).state == "home")
  }
}
