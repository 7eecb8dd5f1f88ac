import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows

private typealias Driven = DeviceDriven

@Suite("Freedom ID's own flow begins")
struct DeviceBeginTests {
  @Test("with the accounts of this device, asked by the owner's installation")
  func begins() throws {
    let driven = try Driven(apiKey: "api-key-secret")
    #expect(driven.last == .proceed([.call(.accounts(device: installation))]))
    #expect(driven.state == "accountCheck")
    #expect(driven.step == .wait(.init(for: "the accounts of this device")))
    #expect(driven.problem == nil)
  }

  @Test("not without grants, whatever else is wrong")
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

  @Test("not with another API key, before the grants are read", arguments: ["", "Api-key-secret"])
  func otherKey(key: String) throws {
    for grants in [["read.firstname"], ["no.grant"]] {
      let driven = try Driven(grants: grants, apiKey: key)
      let failure = try #require(driven.failure)
      #expect(failure.reason == .invalidRequest)
      #expect(!failure.retryable)
      #expect(failure.message == "the apiKey is not the one of this provider")
      #expect(failure.provider == ProviderErrorCode(name: Driven.name, code: "incorrectApiKey"))
    }
  }

  @Test(
    "not with a word that is no grant: the message names it",
    arguments: [
      "read.secret", "read.profile", "read.cards", "openid", "", "READ.FIRSTNAME",
      " read.firstname", "firstname",
    ])
  func unknownGrant(text: String) throws {
    let driven = try Driven(grants: ["read.firstname", text])
    let failure = try #require(driven.failure)
    #expect(failure.reason == .invalidRequest)
    let shown = text.split(separator: " ").joined()
    #expect(failure.message == "there is no grant \"\(shown)\"")
    #expect(
      failure.provider == ProviderErrorCode(name: Driven.name, code: "componentValidationError"))
  }

  @Test("and what is no grant is made fit for a terminal")
  func wildGrant() throws {
    let long = String(repeating: "x", count: 500)
    let driven = try Driven(grants: ["\u{1B}[2J\(long)"])
    let message = try #require(driven.failure?.message)
    #expect(!message.contains("\u{1B}"))
    #expect(message.utf8.count < 150)
  }

  @Test("and what was refused stays refused after a restart, and shows nothing else")
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
    "with each grant once, in the order of the table, in whichever spelling",
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

@Suite("The account check of Freedom ID's own flow")
struct DeviceAccountCheckTests {
  @Test("leads to the log-in where nothing is tied, or what is tied is not ours")
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

  @Test("leads home with what both know, oldest first, by the daemon's labels")
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
              Option(id: "acc_1", label: "+7 ••• 67"), Option(id: "acc_2", label: "+7 ••• 99"),
              Option(id: "other", label: "Another account"),
            ])))
    var one = try Driven(accounts: [Driven.aigerim, Driven.bolat])
    one.answered(Driven.list([Driven.bolat]))
    guard case .choose(let choice) = one.step else { return #expect(Bool(false)) }
    #expect(choice.options.map(\.id) == ["acc_2", "other"])
  }

  @Test("takes an error that is null for none")
  func nullError() throws {
    var driven = try Driven(accounts: [Driven.aigerim])
    driven.answered(["accounts": [["id": .string(Driven.subject)]], "error": nil])
    #expect(driven.state == "home" && driven.failure == nil)
  }

  @Test("reads entries without an id as nobody's")
  func oddEntries() throws {
    var driven = try Driven(accounts: [Driven.aigerim])
    driven.answered(["accounts": [7, [:], ["id": 1], ["id": .string(Driven.subject)]]])
    #expect(driven.state == "home")
  }

  @Test(
    "takes no answer without accounts",
    arguments: [
      ["a": 1], ["accounts": nil], ["accounts": "none"], ["accounts": [:]],
    ] as [JSONValue])
  func noAccounts(answer: JSONValue) throws {
    var driven = try Driven()
    driven.answered(answer)
    #expect(driven.failure?.reason == .providerProtocolError)
    #expect(driven.failure?.provider?.code == "parsingError")
  }

  @Test("is repeated after 1, 2, 4, 8 and 16 seconds, then given up")
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
        #expect(driven.answered(Driven.list([])) == .ignore, "it is not asked just now")
        #expect(driven.receive(.woken) == .proceed([.call(.accounts(device: installation))]))
        #expect(driven.receive(.woken) == .ignore)
      }
      driven.answered(outcome)
      #expect(driven.failure?.reason == .providerUnreachable)
      #expect(driven.failure?.retryable == true)
      #expect(driven.failure?.provider?.code == word)
    }
  }

  @Test("waits as long as the provider asks, up to two minutes")
  func retryAfter() throws {
    for (asked, pause) in [(0, 1), (7, 7), (900, 120)] {
      var driven = try Driven()
      driven.answered([:], status: 503, headers: ["retry-after": "\(asked)"])
      #expect(driven.last == .proceed([.wake(after: .seconds(pause))]))
    }
  }

  @Test("forgets its trouble where it comes through in the end")
  func recovers() throws {
    var driven = try Driven()
    driven.answered(Driven.gone)
    driven.receive(.woken)
    driven.answered(Driven.list([]))
    #expect(driven.state == "authentication")
    #expect(driven.problem == nil)
  }

  @Test("after a restart is made again, also in a pause")
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
