import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherFlows
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// A rule's `accounts`, `confirm` and the audit hold whether a call names its account or not.
@Suite("Calls that name no account")
struct ImplicitAccountTests {
  private typealias Stage = ImplicitAccountStage

  private let stage: ImplicitAccountStage

  init() async throws { stage = try await ImplicitAccountStage() }

  @Test("a flow that names no account does not begin with one that the rule excludes")
  func excluded() async throws {
    let excluded = try await stage.keep("two")
    let till = try Stage.caller([
      Stage.rule("till", allow: "flow.start wallet/sca", accounts: ["one"])
    ])
    #expect(
      try await stage.outcome("flow.start", Stage.sca(excluded), as: till) == .refused(.notFound))
    #expect(
      try await stage.outcome("flow.start", Stage.sca(), as: till)
        == .refused(.interactionRequired))
  }

  @Test("a flow that names no account is confirmed as one that names it")
  func confirmed() async throws {
    let account = try await stage.keep("two")
    let till = try Stage.caller([
      Stage.rule("till", allow: "flow.start wallet/sca", accounts: ["one"]),
      Stage.rule("asking", allow: "flow.start wallet/sca") { $0.confirm = true },
    ])
    let named = try await stage.outcome("flow.start", Stage.sca(account), as: till)
    #expect(named.isAsked)
    #expect(try await stage.outcome("flow.start", Stage.sca(), as: till) == named)
  }

  @Test("a flow that names no account begins with the only one that the rule permits")
  func permitted() async throws {
    let one = try await stage.keep("one")
    try await stage.keep("two")
    let till = try Stage.caller([
      Stage.rule("till", allow: "flow.start wallet/sca", accounts: ["one"])
    ])
    #expect(try await stage.outcome("flow.start", Stage.sca(), as: till) == .flow(with: one))
    let rows = try await stage.lockController.domain().audits.list(.init(method: "flow.start")).rows
    #expect(rows.map(\.account) == [one])
  }

  @Test("the error that asks to name an account counts only those that the rule permits")
  func counted() async throws {
    for subject in ["one", "two", "three"] { try await stage.keep(subject) }
    let till = try Stage.caller([
      Stage.rule("till", allow: "flow.start wallet/sca", accounts: ["one", "two"])
    ])
    let error = await stage.error("flow.start", Stage.sca(), as: till)
    #expect(error?.reason == .invalidParams && error?.detail.field == "params.account")
    #expect(error?.message == "there are 2 accounts of provider wallet: name one")
  }

  @Test("the account of a flow that names none is read from the disk before the rules are asked")
  func cold() async throws {
    let excluded = try await stage.keep("two")
    let till = try Stage.caller([
      Stage.rule("till", allow: "flow.start wallet/sca", accounts: ["one"])
    ])
    try await stage.lockController.lock()
    try await stage.lockController.unlock()
    #expect(try stage.lockController.domain().book.count == 0)
    let response = try stage.respond("flow.start", Stage.sca(), as: till)
    guard case .cold = response else {
      Issue.record("account \(excluded) is not read before the call is decided")
      return
    }
    #expect(try await stage.outcome(of: response) == .refused(.interactionRequired))
  }

  @Test("a call acts on the account that was decided about, or on none", arguments: [true, false])
  func replaced(isFlow: Bool) async throws {
    let one = try await stage.keep("one")
    let till = try Stage.caller([
      Stage.rule("till", allow: "*", accounts: ["one"]),
      Stage.rule("asking", allow: "*") { $0.confirm = true },
    ])
    // The accounts are in memory then, so that the call is decided at once.
    #expect(try await stage.outcome("account.list", ["provider": "wallet"], as: till) == .reply)
    let response = try stage.respond(
      isFlow ? "flow.start" : "account.forget",
      isFlow ? Stage.sca() : ["provider": "wallet", "revoke": false], as: till)
    // Decided, and not carried out yet.
    try await stage.forget(one)
    let two = try await stage.keep("two")
    let outcome = try await stage.outcome(of: response)
    #expect(outcome == .refused(.notFound))
    #expect(try stage.lockController.domain().book.record(two) != nil)
  }

  @Test("a one-time code of the only account that has codes is confirmed as one that is named")
  func codes() async throws {
    try await stage.keep("one", at: Stage.bsa, hasTokens: false)
    let two = try await stage.keep(
      "two", at: Stage.bsa, totp: TOTPStage.secret, hasTokens: false)
    let till = try Stage.caller([
      Stage.rule("till", allow: "totp.code", accounts: ["one"]),
      Stage.rule("asking", allow: "totp.code") { $0.confirm = true },
    ])
    let named = try await stage.outcome("totp.code", ["account": .string(two.rawValue)], as: till)
    #expect(named.isAsked)
    #expect(try await stage.outcome("totp.code", ["provider": "bsa"], as: till) == named)
  }

  @Test("client.clear leaves accounts alone that the rule which allows it does not cover")
  func cleared() async throws {
    let one = try await stage.keep("one", hasTokens: false)
    let two = try await stage.keep("two", hasTokens: false)
    let till = try Stage.caller([
      Stage.rule("till", allow: "client.clear", accounts: ["one"]),
      Stage.rule("asking", allow: "client.clear") { $0.confirm = true },
    ])
    #expect(try await stage.outcome("client.clear", ["provider": "wallet"], as: till) == .reply)
    let book = try stage.lockController.domain().book
    #expect(book.record(one) == nil)
    #expect(book.record(two) != nil)
  }

  @Test("a flow lets a person choose only among accounts that its rule permits")
  func chosen() async throws {
    for subject in ["one", "two"] { try await stage.keep(subject, at: Stage.freedom) }
    for others in [
      [],
      [try Stage.rule("asking", allow: "flow.start freedom/authorize") { $0.confirm = true }],
    ] {
      let till = try Stage.caller(
        [try Stage.rule("till", allow: "flow.start freedom/authorize", accounts: ["one"])]
          + others)
      let call: JSONValue = [
        "provider": "freedom", "kind": "authorize", "params": ["grants": ["read.firstname"]],
      ]
      let reply = try JSONValue(
        parsing: try await stage.respond("flow.start", call, as: till).reply())
      let id = try #require(reply["flow"]?["id"]?.stringValue)
      let machine = try stage.machine(of: FlowID(id))
      #expect(machine.contains("label-one"))
      #expect(!machine.contains("label-two"), "\(others.count) other rules")
    }
  }

  /// Rules at random, each about some of the accounts that there may be.
  private static func rules(_ random: inout SeededGenerator) throws -> [ClientRule] {
    let patterns = [
      "*", "flow.*", "flow.start wallet", "flow.start wallet/sca", "flow.start wallet/operation",
      "flow.start */s*", "token.get",
    ]
    let lists: [[String]?] = [nil, [], ["one"], ["two"], ["one", "two"], ["three"]]
    return try (0..<Int.random(in: 1...3, using: &random)).map { number in
      try Stage.rule(
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

  @Test("by random rules a call that names no account ends as the one that names it")
  func same() async throws {
    var random = SeededGenerator(seed: 19)
    var accounts: [AccountID] = []
    var (begun, asked) = (0, 0)
    for round in 0..<120 {
      if round == 10 { accounts.append(try await stage.keep("one")) }
      if round == 60 { accounts.append(try await stage.keep("two")) }
      let till = try Stage.caller(Self.rules(&random))
      var named: [Stage.Outcome] = []
      for account in accounts {
        named.append(try await stage.outcome("flow.start", Stage.sca(account), as: till))
      }
      let unnamed = try await stage.outcome("flow.start", Stage.sca(), as: till)
      let seen = named.filter { $0 != .refused(.notFound) }
      if seen.count == 1 {
        #expect(unnamed == seen[0], "round \(round)")
        begun += unnamed.isFlow ? 1 : 0
        asked += unnamed.isAsked ? 1 : 0
      } else {
        #expect(!unnamed.isFlow && !unnamed.isAsked, "round \(round)")
      }
    }
    #expect(begun > 10 && asked > 10, "\(begun) began, \(asked) were asked about")
  }
}
