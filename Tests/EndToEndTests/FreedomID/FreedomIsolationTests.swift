import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// A client with consent for one profile member never sees another one: neither in its own or
/// another client's flow, nor in accounts, tokens, consents or events.
@Suite("Separation of two programs of one user at Freedom ID", .mayBlock, .timeLimit(.minutes(10)))
struct FreedomIsolationTests {
  private let fixture: FreedomFixture
  private let till: FreedomFixture
  private let desk: FreedomFixture
  private let programs: [NamedProgram]

  init() throws {
    let place = try TemporaryDirectory()
    let names = ["till", "desk"]
    fixture = try FreedomFixture(
      more: try names.map { try NamedProgram.rule($0, in: place) }.joined(separator: "\n"),
      at: place)
    let daemon = fixture.daemon
    programs = try names.map { try NamedProgram($0, in: place, at: daemon) }
    till = fixture.at(try programs[0].client())
    desk = fixture.at(try programs[1].client())
  }

  /// Returns the replies to all calls that ask about accounts and about other programs' flows.
  private func everything(_ client: FreedomFixture, _ flows: [JSONValue]) throws -> String {
    var told: [JSONValue] = []
    for account in try client.accounts() {
      told += [account, try client.account(account["id"])]
      for params: JSONValue in [
        ["account": account["id"] ?? .null], ["provider": "freedom"],
      ] {
        told.append(try client.app.reply(to: "token.get", params))
      }
    }
    for method in ["token.list", "consent.list", "flow.list", "provider.list", "system.status"] {
      told.append(try client.app.reply(to: method))
    }
    for flow in flows {
      let id = flow["id"] ?? .null
      told += [
        try client.app.reply(to: "flow.get", ["flow": id]),
        try client.app.reply(
          to: "flow.wait", ["flow": id, "revision": 0, "timeoutMs": 0]),
        try client.app.reply(
          to: "flow.submit",
          [
            "flow": id, "revision": flow["revision"] ?? .null,
            "input": ["type": "consent", "granted": ["read.email"]],
          ]),
      ]
    }
    return told.map(\.text).joined(separator: "\n")
  }

  @Test("a program sees of a shared Freedom ID account only the members that were granted to it")
  func oneField() throws {
    let tills = try till.authorized(["read.firstname"])
    let desks = try desk.authorized(["read.email", "read.identifier"])
    #expect(tills.profile == ["firstname": "Alice"])
    #expect(desks.profile == ["email": "alice@example.com", "identifier": "901231400456"])
    #expect(tills["result"]?["account"] == desks["result"]?["account"])
    for restarts in [false, true] {
      if restarts { try fixture.daemon.restart() }
      let till = fixture.at(try programs[0].client())
      let desk = fixture.at(try programs[1].client())
      #expect(try till.accounts().map { $0["profile"] } == [["firstname": "Alice"]])
      let known = try everything(till, [tills, desks])
      for value in ["alice@example.com", "901231400456", "read.email", "read.identifier"] {
        #expect(!known.contains(value), "the program till received \(value) without consent")
      }
      #expect(
        known.contains("Alice"), "the program till receives the first name that it has consent for")
      let other = try everything(desk, [desks, tills])
      #expect(
        !other.contains("Alice\""), "the program desk received the first name without consent")
      #expect(!other.contains("read.firstname"))
      #expect(other.contains("901231400456"))
      // Programs without a rule see all consents of their user.
      let own = try fixture.again().consents()
      #expect(Set(own.compactMap { $0["client"]?.stringValue }) == ["till", "desk"])
      #expect(own.count == 3)
    }
  }

  @Test(
    "another program sees no step or result of a Freedom ID flow and cannot answer or cancel it")
  func othersFlow() throws {
    var flow = try till.authorize(["read.firstname"])
    var kinds: Set<String> = []
    for _ in 0..<20 where flow["status"] == "active" {
      kinds.insert(flow.stepType ?? "")
      let id = flow["id"] ?? .null
      let listed = try desk.app.call("flow.list")["flows"]?.arrayValue?.first { $0["id"] == id }
      let waited = try desk.app.call(
        "flow.wait", ["flow": id, "revision": 0, "timeoutMs": 0])["flow"]
      for seen in [try desk.flow(flow), listed ?? .null, waited ?? .null] {
        #expect(seen["id"] == id)
        #expect((seen["step"] ?? .null) == .null && (seen["result"] ?? .null) == .null)
      }
      let answer = try till.answer(to: flow)
      #expect(try desk.refusal(answer, to: flow).0 == "permission_denied")
      #expect(try till.flow(flow) == flow, "the refused answer of another program changed the flow")
      flow = try till.submit(answer, to: flow)
    }
    #expect(flow["status"] == "succeeded", "\(flow.text)")
    #expect(
      kinds == ["choose", "fillForm", "enterPassword", "localAuth", "consent"], "\(kinds)")
    #expect((try desk.flow(flow)["result"] ?? .null) == .null)
    let next = try till.authorize(["read.email"])
    let id: JSONValue = ["flow": next["id"] ?? .null]
    #expect(try desk.app.reason(of: "flow.cancel", id) == "permission_denied")
    #expect(try till.flow(next) == next)
    // A program without a rule may cancel its user's flows.
    #expect(try fixture.app.call("flow.cancel", id)["flow"]?["status"] == "cancelled")
  }
}

/// Consents and accounts are per Unix user.
@Suite(
  "Separation of two Unix users at Freedom ID", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
struct FreedomOwnerTests {
  @Test("a user sees no Freedom ID account, flow, consent or event of another user")
  func owners() throws {
    let fixture = try FreedomFixture(more: "[access]\ngroup = \"4242\"\n")
    let users = try [4001, 4002].map {
      try OtherUser($0, groups: "4242", at: fixture.daemon)
    }
    let mine = fixture.at(try users[0].client())
    let other = fixture.at(try users[1].client())
    try mine.setPasscode()
    let listener = try users[1].client()
    _ = try listener.call(
      "events.subscribe", ["topics": ["flow", "account", "token", "confirm", "kyc"]])
    let end = try mine.authorized(["read.firstname"])
    let account = end["result"]?["account"] ?? .null
    #expect(try mine.accounts().count == 1)
    for calls in [other, fixture] {
      #expect(try calls.accounts().isEmpty && calls.consents().isEmpty)
      #expect(try calls.app.call("flow.list")["flows"] == [])
      for method in ["account.get", "account.forget", "token.get"] {
        #expect(try calls.app.reason(of: method, ["account": account]) == "not_found")
      }
      #expect(try calls.app.reason(of: "flow.get", ["flow": end["id"] ?? .null]) == "not_found")
      let revoked = try calls.app.reply(to: "consent.revoke", ["account": account])
      #expect(revoked["result"] == nil || revoked["result"] == ["revoked": 0], "\(revoked.text)")
      #expect(
        try calls.app.call("client.clear", ["provider": "freedom"])
          == ["cancelled": 0, "forgotten": 0, "kept": 0])
    }
    // Device and passcode are per user, too.
    let ended = try other.authorize(["read.firstname"])
    #expect(ended.failure[1] == "configurationError", "\(ended.text)")
    try other.setPasscode()
    let flow = try other.authorize(["read.firstname"])
    #expect(flow.state == "authentication", "\(flow.text)")
    let heard = try #require(try listener.receive())["params"]?["event"]
    #expect(heard?["flow"] == ended["id"])
    #expect(try mine.consents().count == 1)
    withExtendedLifetime(users) {}
  }
}
