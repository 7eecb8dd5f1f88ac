import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A rule's `accounts` and `confirm`, and the audit, apply whether or not a call names its account.
@Suite("Calls that name no account", .timeLimit(.minutes(10)))
struct ImplicitAccountTests {
  private typealias Harness = ImplicitAccountHarness

  private let harness: ImplicitAccountHarness

  init() async throws { harness = try await ImplicitAccountHarness() }

  @Test("flow.start without an account does not use an account that the rule excludes")
  func excluded() async throws {
    let excluded = try await harness.persist("two")
    let till = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet/sca", accounts: ["one"])
    ])
    #expect(
      try await harness.outcome("flow.start", Harness.sca(excluded), as: till)
        == .refused(.notFound))
    #expect(
      try await harness.outcome("flow.start", Harness.sca(), as: till)
        == .refused(.interactionRequired))
  }

  @Test("flow.start without an account asks the same confirmation as one that names it")
  func confirmed() async throws {
    let account = try await harness.persist("two")
    let till = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet/sca", accounts: ["one"]),
      Harness.rule("asking", allow: "flow.start wallet/sca") { $0.confirm = true },
    ])
    let named = try await harness.outcome("flow.start", Harness.sca(account), as: till)
    #expect(named.isAsked)
    #expect(try await harness.outcome("flow.start", Harness.sca(), as: till) == named)
  }

  @Test("flow.start without an account uses the only one that the rule permits, and audits it")
  func permitted() async throws {
    let one = try await harness.persist("one")
    try await harness.persist("two")
    let till = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet/sca", accounts: ["one"])
    ])
    #expect(try await harness.outcome("flow.start", Harness.sca(), as: till) == .flow(with: one))
    let rows = try await harness.lockController.services().audits.list(.init(method: "flow.start"))
      .rows
    #expect(rows.map(\.account) == [one])
  }

  @Test("the error for an ambiguous account counts only accounts that the rule permits")
  func counted() async throws {
    for subject in ["one", "two", "three"] { try await harness.persist(subject) }
    let till = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet/sca", accounts: ["one", "two"])
    ])
    let error = await harness.error("flow.start", Harness.sca(), as: till)
    #expect(error?.reason == .invalidParams && error?.detail.field == "params.account")
    #expect(error?.message == "there are 2 accounts at provider wallet: name one")
  }

  @Test("the implied account of flow.start is read from disk before the rules are evaluated")
  func cold() async throws {
    let excluded = try await harness.persist("two")
    let till = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet/sca", accounts: ["one"])
    ])
    try await harness.lockController.lock()
    try await harness.lockController.unlock()
    #expect(try harness.lockController.services().repository.count == 0)
    let response = try harness.respond("flow.start", Harness.sca(), as: till)
    guard case .cold = response else {
      Issue.record("account \(excluded) is not read before the call is decided")
      return
    }
    #expect(try await harness.outcome(of: response) == .refused(.interactionRequired))
  }

  @Test(
    "a call that names no account fails if its account was replaced after the access decision",
    arguments: ["flow.start", "account.forget", "token.revoke", "consent.revoke"])
  func replaced(method: String) async throws {
    let one = try await harness.persist("one")
    let till = try Harness.caller([
      Harness.rule("till", allow: "*", accounts: ["one"]),
      Harness.rule("asking", allow: "*") { $0.confirm = true },
    ])
    // The accounts are in memory now, so that the call is decided at once.
    #expect(try await harness.outcome("account.list", ["provider": "wallet"], as: till) == .reply)
    let params: JSONValue =
      switch method {
      case "flow.start": Harness.sca()
      case "account.forget": ["provider": "wallet", "revoke": false]
      case "consent.revoke": ["account": .string(one.rawValue)]
      default: ["provider": "wallet"]
      }
    let response = try harness.respond(method, params, as: till)
    // The call is decided, but not carried out yet.
    try await harness.forget(one)
    let two = try await harness.persist("two")
    let outcome = try await harness.outcome(of: response)
    #expect(outcome == .refused(.notFound))
    #expect(try harness.lockController.services().repository.record(two) != nil)
  }

  @Test("totp.code for the only account with a secret is confirmed like one that names it")
  func codes() async throws {
    try await harness.persist("one", at: Harness.bsa, hasTokens: false)
    let two = try await harness.persist(
      "two", at: Harness.bsa, totp: TOTPHarness.secret, hasTokens: false)
    let till = try Harness.caller([
      Harness.rule("till", allow: "totp.code", accounts: ["one"]),
      Harness.rule("asking", allow: "totp.code") { $0.confirm = true },
    ])
    let named = try await harness.outcome("totp.code", ["account": .string(two.rawValue)], as: till)
    #expect(named.isAsked)
    #expect(try await harness.outcome("totp.code", ["provider": "bsa"], as: till) == named)
  }

  @Test("client.clear leaves accounts alone that the allowing rule does not cover")
  func cleared() async throws {
    let one = try await harness.persist("one", hasTokens: false)
    let two = try await harness.persist("two", hasTokens: false)
    let till = try Harness.caller([
      Harness.rule("till", allow: "client.clear", accounts: ["one"]),
      Harness.rule("asking", allow: "client.clear") { $0.confirm = true },
    ])
    #expect(try await harness.outcome("client.clear", ["provider": "wallet"], as: till) == .reply)
    let repository = try harness.lockController.services().repository
    #expect(repository.record(one) == nil)
    #expect(repository.record(two) != nil)
  }

  @Test("a flow offers only accounts that its rule permits for the choice")
  func chosen() async throws {
    for subject in ["one", "two"] { try await harness.persist(subject, at: Harness.freedom) }
    for others in [
      [],
      [try Harness.rule("asking", allow: "flow.start freedom/authorize") { $0.confirm = true }],
    ] {
      let till = try Harness.caller(
        [try Harness.rule("till", allow: "flow.start freedom/authorize", accounts: ["one"])]
          + others)
      let call: JSONValue = [
        "provider": "freedom", "kind": "authorize", "params": ["grants": ["read.firstname"]],
      ]
      let reply = try JSONValue(
        parsing: try await harness.respond("flow.start", call, as: till).reply())
      let id = try #require(reply["flow"]?["id"]?.stringValue)
      let machine = try harness.machine(of: FlowID(id))
      #expect(machine.contains("label-one"))
      #expect(!machine.contains("label-two"), "with \(others.count) other rules")
    }
  }

  /// Random rules, each for some of the possible accounts.
  private static func rules(_ random: inout SeededGenerator) throws -> [ClientRule] {
    let patterns = [
      "*", "flow.*", "flow.start wallet", "flow.start wallet/sca", "flow.start wallet/operation",
      "flow.start */s*", "token.get",
    ]
    let lists: [[String]?] = [nil, [], ["one"], ["two"], ["one", "two"], ["three"]]
    return try (0..<Int.random(in: 1...3, using: &random)).map { number in
      try Harness.rule(
        "rule-\(number)", allow: patterns.randomElement(using: &random) ?? "*",
        accounts: lists.randomElement(using: &random) ?? nil
      ) {
        $0.confirm = Bool.random(using: &random)
        $0.hours =
          Int.random(in: 0..<4, using: &random) == 0
          ? [try OpeningHours(setting: "Mon-Sun 00:00-00:01")] : nil
      }
    }
  }

  @Test("under random rules, flow.start without an account has the outcome of one that names it")
  func same() async throws {
    var random = SeededGenerator(seed: 19)
    var accounts: [AccountID] = []
    var (begun, asked) = (0, 0)
    for round in 0..<120 {
      if round == 10 { accounts.append(try await harness.persist("one")) }
      if round == 60 { accounts.append(try await harness.persist("two")) }
      let till = try Harness.caller(Self.rules(&random))
      var named: [Harness.Outcome] = []
      for account in accounts {
        named.append(try await harness.outcome("flow.start", Harness.sca(account), as: till))
      }
      let unnamed = try await harness.outcome("flow.start", Harness.sca(), as: till)
      let seen = named.filter { $0 != .refused(.notFound) }
      if seen.count == 1 {
        #expect(unnamed == seen[0], "round \(round)")
        begun += unnamed.isFlow ? 1 : 0
        asked += unnamed.isAsked ? 1 : 0
      } else {
        #expect(!unnamed.isFlow && !unnamed.isAsked, "round \(round)")
      }
    }
    #expect(begun > 10 && asked > 10, "\(begun) flows started, \(asked) calls need a confirmation")
  }
}
