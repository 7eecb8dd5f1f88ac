import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore
import UsherStore
import UsherTestKit

@testable import UsherDaemon

/// Confirmation of a flow that is to make a call to the provider's API.
@Suite("Confirmation of operations", .timeLimit(.minutes(10)))
struct OperationConfirmTests {
  private typealias Harness = ImplicitAccountHarness

  private let harness: ImplicitAccountHarness
  private let till: Caller
  private let admin: Caller

  init() async throws {
    harness = try await ImplicitAccountHarness()
    try await harness.persist("one")
    till = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet/operation") { $0.confirm = true }
    ])
    admin = try .program(of: Owner(realm: "host", uid: 0), isAdmin: true)
  }

  private static func transfer(
    _ change: (inout JSONValue) -> Void = { _ in }
  ) -> JSONValue {
    var params: JSONValue = [
      "method": "POST", "path": "/transfers?draft=0", "body": ["amount": 2000, "to": "shop"],
      "operation": ["summary": "Pay", "amount": "20.00 EUR", "payee": "Shop"],
    ]
    change(&params)
    return ["provider": "wallet", "kind": "operation", "params": params]
  }

  private func question(_ call: JSONValue) async throws -> ConfirmationID {
    let error = try #require(await harness.error("flow.start", call, as: till))
    #expect(error.reason == .interactionRequired)
    return try #require(error.detail.confirmation)
  }

  private func answer(
    _ id: ConfirmationID, _ remember: JSONValue? = nil
  ) async throws -> UsherError? {
    var call: JSONValue = ["confirmation": .string(id.rawValue), "allow": true]
    if let remember { call["remember"] = remember }
    return await harness.error("confirm.answer", call, as: admin)
  }

  private static let others: [@Sendable (inout JSONValue) -> Void] = [
    { $0["body"]?["amount"] = 2_000_000 },
    { $0["body"]?["to"] = "thief" },
    { $0["body"] = nil },
    { $0["path"] = "/transfers?draft=1" },
    { $0["path"] = "/transfers" },
    { $0["method"] = "PUT" },
    { $0["operation"]?["amount"] = "2.00 EUR" },
    { $0["operation"]?["payee"] = "Bakery" },
    { $0["operation"] = nil },
  ]

  @Test("identical operations share a question; another body, path, amount or payee is a new one")
  func exact() async throws {
    let first = try await question(Self.transfer())
    #expect(try await question(Self.transfer()) == first)
    for (place, change) in Self.others.enumerated() {
      #expect(try await question(Self.transfer(change)) != first, "change \(place)")
    }
  }

  @Test("an approval of one operation does not allow any other")
  func covers() async throws {
    #expect(try await answer(try await question(Self.transfer())) == nil)
    for (place, change) in Self.others.enumerated() {
      let error = await harness.error("flow.start", Self.transfer(change), as: till)
      #expect(error?.detail.confirmation != nil, "change \(place)")
    }
    // The call reaches the engine: the provider's configuration lists no operation.
    let error = await harness.error("flow.start", Self.transfer(), as: till)
    #expect(error?.detail.confirmation == nil && error?.reason == .permissionDenied)
  }

  private static let lookalikes: [@Sendable (inout JSONValue, Bool) -> Void] = [
    { $0["operation"]?["payee"] = $1 ? "Caf\u{E9}" : "Cafe\u{301}" },
    { $0["path"] = $1 ? "/transfers?to=\u{212A}aren" : "/transfers?to=Karen" },
  ]

  @Test("an approval covers the exact bytes shown, and not look-alike Unicode")
  func bytes() async throws {
    for (place, change) in Self.lookalikes.enumerated() {
      let shown = Self.transfer { change(&$0, true) }
      #expect(try await answer(try await question(shown)) == nil)
      let error = await harness.error("flow.start", Self.transfer { change(&$0, false) }, as: till)
      #expect(error?.detail.confirmation != nil, "lookalike \(place)")
    }
  }

  @Test("an operation that is too long to confirm is refused with the name of the parameter")
  func tooLong() async throws {
    let long = String(repeating: "x", count: 5000)
    for (field, change) in [
      ("params.path", { $0["path"] = .string("/transfers/" + long) }),
      ("params.operation.summary", { $0["operation"]?["summary"] = .string(long) }),
    ] as [(String, (inout JSONValue) -> Void)] {
      let error = await harness.error("flow.start", Self.transfer(change), as: till)
      #expect(error?.reason == .invalidParams)
      #expect(error?.detail.field == field)
    }
  }

  @Test("an answer about an operation can only be given for once", arguments: ["session", "3600"])
  func once(remember: String) async throws {
    let id = try await question(Self.transfer())
    let span = Int64(remember).map { JSONValue.integer($0) } ?? JSONValue.string(remember)
    let error = try await answer(id, span)
    #expect(error?.reason == .invalidParams && error?.detail.field == "remember")
    #expect(try await question(Self.transfer()) == id)
    #expect(try await answer(id, "once") == nil)
  }

  @Test("confirm.list shows an operation's path, summary, amount, payee and body digest")
  func shown() async throws {
    _ = try await question(Self.transfer())
    let reply = try JSONValue(
      parsing: try await harness.respond("confirm.list", [:], as: admin).reply())
    let about = try #require(reply["questions"]?[0]?["about"])
    #expect(about["operation"] == "POST:/transfers?draft=0")
    #expect(about["summary"] == "Pay")
    #expect(about["amount"] == "20.00 EUR")
    #expect(about["payee"] == "Shop")
    // printf '%s' '{"amount":2000,"to":"shop"}' | sha256sum
    #expect(
      about["bodyDigest"]?.stringValue
        == "7770a313fdfe2dceb3cb8202d46c701a9872021c8c74e1c4e2fe7b84952466c8")
  }

  @Test(
    "flow.start of wallet/operation and wallet/sca needs local authentication if the rule does",
    arguments: ["operation", "sca"])
  func localAuth(kind: String) async throws {
    let strict = try Harness.caller([
      Harness.rule("till", allow: "flow.start wallet") { $0.requireLocalAuthSeconds = 300 }
    ])
    let call = kind == "sca" ? Harness.sca() : Self.transfer()
    let error = await harness.error("flow.start", call, as: strict)
    #expect(error?.reason == .interactionRequired)
    #expect(error?.detail.next?.kind == "authenticate")
    // A sign-in acts on no account.
    let signIn: JSONValue = ["provider": "wallet", "kind": "authorize", "params": [:]]
    let other = await harness.error("flow.start", signIn, as: strict)
    #expect(other?.reason != .interactionRequired)
  }
}
