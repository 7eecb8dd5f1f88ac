import Foundation
import JSONRPC
import Testing
import UsherTestKit

@Suite("Confirmation of calls", .mayBlock, .timeLimit(.minutes(10)))
struct ConfirmTests {
  private static let calls: [(String, JSONValue)] = [
    ("token.get", [:]), ("token.revoke", [:]), ("totp.code", [:]), ("account.get", [:]),
    ("account.forget", [:]),
  ]

  @Test(
    "a call that needs confirmation asks one question, also if repeated; list calls ask none"
  )
  func methods() throws {
    let fixture = try ConfirmFixture()
    let kiosk = try fixture.client("kiosk")
    var asked: [JSONValue] = []
    for (method, params) in Self.calls {
      var params = params
      params["account"] = fixture.account
      let id = try kiosk.question(of: method, params)
      #expect(try fixture.client("kiosk").question(of: method, params) == id, "\(method)")
      asked.append(id)
    }
    asked.append(
      try kiosk.question(
        of: "flow.start", ["provider": "demo", "kind": "authorize", "params": [:]]))
    let check: JSONValue = [
      "provider": "demo", "verifyType": "email", "verifyData": "canary@x.example",
    ]
    asked.append(try kiosk.question(of: "registration.checkDuplicate", check))
    asked.append(
      try kiosk.question(
        of: "registration.checkUserKey", ["provider": "demo", "userKey": "canary-key"]))
    #expect(Set(asked.map(\.text)).count == asked.count)
    for method in ["account.list", "token.list", "totp.list", "flow.list", "provider.list"] {
      #expect(try kiosk.outcome(of: method, [:]) == "result", "\(method)")
    }
    #expect(try kiosk.outcome(of: "account.get", ["account": "acc_none"]) == "not_found")
    let list = try fixture.daemon.admin().call("confirm.list")
    let listed = list["questions"]?.arrayValue?.compactMap { $0["id"]?.text } ?? []
    #expect(listed.sorted() == asked.map(\.text).sorted())
    #expect(!list.text.contains("canary"), "confirm.list must not return the checked parameters")
    #expect(list["answers"] == [])
  }

  @Test(
    "a confirmation question names program, user, method, account and scope, and delays no others")
  func question() throws {
    let fixture = try ConfirmFixture()
    let id = try fixture.client("kiosk").question(of: "token.get", ["account": fixture.account])
    let questions = try fixture.daemon.admin().questions()
    let question = try #require(questions.first)
    #expect(questions.count == 1 && question["id"] == id)
    let asker = question["asker"]
    #expect(asker?["client"] == "kiosk" && asker?["uid"] == .integer(Int64(getuid())))
    #expect(asker?["user"] == .string(NSUserName()))
    #expect(asker?["executable"]?.stringValue?.hasSuffix("/kiosk") == true)
    let about = question["about"]
    #expect(about?["method"] == "token.get" && about?["provider"] == "demo")
    #expect(about?["account"] == fixture.account && about?["label"]?.stringValue != nil)
    #expect(about?["scope"]?.stringValue?.contains("openid") == true)
    #expect(try fixture.client().outcome() == "result")
    #expect(try fixture.client("till").question() != id)
  }

  @Test(
    "confirm.answer refuses bad parameters by name and an unknown question, and accepts a good answer"
  )
  func badInput() throws {
    let fixture = try ConfirmFixture()
    let id = try fixture.client("kiosk").question()
    let admin = try fixture.daemon.admin()
    for remember: JSONValue in ["ever", 0, -1, 2_592_001, 1.5, true, [1], [:]] {
      let reply = try admin.reply(
        to: "confirm.answer", ["confirmation": id, "allow": true, "remember": remember])
      #expect(reply.replyReason == "invalid_params" && reply.replyField == "remember")
    }
    let bad: [(JSONValue, String)] = [
      (["confirmation": id], "allow"), (["allow": true], "confirmation"),
      (["confirmation": id, "allow": "yes"], "allow"),
      (["confirmation": id, "allow": true, "who": "me"], "who"),
    ]
    for (params, field) in bad {
      let reply = try admin.reply(to: "confirm.answer", params)
      #expect(reply.replyReason == "invalid_params" && reply.replyField == field)
    }
    #expect(try admin.answer("cnf_none") == "not_found")
    #expect(try admin.answer(id) == "result")
  }
}

@Suite("Permission to answer a confirmation question", .mayBlock, .timeLimit(.minutes(10)))
struct ConfirmAnswererTests {
  @Test("the asking program cannot answer its own question until the user has entered the passcode")
  func asker() throws {
    let fixture = try ConfirmFixture()
    try fixture.setPasscode()
    let kiosk = try fixture.client("kiosk")
    let id = try kiosk.question()
    #expect(try kiosk.questions().map { $0["id"] } == [id])
    let error = try kiosk.error(of: "confirm.answer", ["confirmation": id, "allow": true])
    #expect(error["data"]?["reason"] == "interaction_required")
    let next = error["data"]?["next"]?["params"]
    #expect(next?["provider"] == "local" && next?["kind"] == "authenticate")
    #expect(try kiosk.outcome() == "interaction_required")
    try kiosk.prove()
    #expect(try kiosk.answer(id) == "result")
    #expect(try kiosk.outcome() == "result")
  }

  @Test(
    "another user can list and answer a confirmation only if a rule's confirms setting says so",
    .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
  func otherUser() throws {
    let fixture = try ConfirmFixture { _ in
      """
      [[client]]
      name = "porter"
      match = { user = "4003" }
      allow = []
      confirms = ["kiosk"]
      """
    }
    let bob = try OtherUser(4002, groups: "4242", at: fixture.daemon)
    let porter = try OtherUser(4003, groups: "4242", at: fixture.daemon)
    let kiosk = try fixture.client("kiosk")
    let id = try kiosk.question()
    let till = try fixture.client("till").question()
    let (other, answering) = (try bob.client(), try porter.client())
    #expect(try other.questions() == [])
    let missing = try other.error(of: "confirm.answer", ["confirmation": "cnf_x", "allow": true])
    for id in [id, till] {
      let error = try other.error(of: "confirm.answer", ["confirmation": id, "allow": true])
      #expect(error["message"] == missing["message"])
      #expect(error["data"]?["reason"] == missing["data"]?["reason"])
    }
    #expect(missing["data"]?["reason"] == "not_found")
    #expect(try answering.questions().map { $0["id"] } == [id])
    #expect(try answering.answer(till) == "not_found")
    #expect(try answering.answer(id, true, 60) == "result")
    #expect(try kiosk.outcome() == "result")
    #expect(
      try other.answer(id) == "not_found",
      "another user cannot find out that the question was answered")
    #expect(try other.outcome(of: "confirm.forget", ["answer": id]) == "not_found")
    #expect(try answering.outcome(of: "confirm.forget", ["answer": id]) == "result")
  }

  @Test(
    "confirm events reach the admin socket and the user's own programs, but no other user",
    .enabled(if: OtherUser.isPossible, "NOT TESTED: only root can run programs as two users"))
  func events() throws {
    let fixture = try ConfirmFixture()
    let user = try OtherUser(4002, groups: "4242", at: fixture.daemon)
    let bob = try user.client()
    let topics: JSONValue = ["topics": ["confirm", "flow"]]
    let hearers = [
      try fixture.daemon.admin(), try fixture.client("desk"), try fixture.client("kiosk"),
      try fixture.client(),
    ]
    for hearer in hearers + [bob] { _ = try hearer.call("events.subscribe", topics) }
    let id = try fixture.client("kiosk").question()
    #expect(try fixture.daemon.admin().answer(id, true, 60) == "result")
    #expect(
      try fixture.daemon.admin().outcome(of: "confirm.forget", ["answer": id]) == "result")
    for hearer in hearers {
      for what: JSONValue in ["asked", "answered", "forgotten"] {
        let event = try hearer.event()
        #expect(event["topic"] == "confirm" && event["what"] == what)
        #expect(event["confirmation"] == id && event["client"] == "kiosk")
        #expect(event["provider"] == "demo" && event["account"] == fixture.account)
      }
    }
    let flow = try user.client().startFlow()
    let first = try bob.event()
    #expect(first["topic"] == "flow" && first["flow"] == flow["id"])
  }

  @Test(
    "usherctl confirm lists questions and answers them, with the passcode or on the admin socket")
  func usherctl() throws {
    let fixture = try ConfirmFixture()
    try fixture.setPasscode()
    let kiosk = try fixture.client("kiosk")
    let id = try #require(try kiosk.question().stringValue)
    let list = try fixture.daemon.usherctl(["confirm"])
    #expect(list.status == 0 && list.output.contains(id) && list.output.contains("token.get demo"))
    let allowed = try fixture.daemon.usherctl(
      ["confirm", "allow", id, "--session"], input: "\(ConfirmFixture.passcode)\n")
    #expect(allowed.status == 0, "\(allowed)")
    #expect(allowed.errors.hasSuffix("allowed until usherd ends or is locked\n"))
    #expect(try kiosk.outcome() == "result")
    #expect(try fixture.daemon.usherctl(["confirm", "forget", id]).status == 0)
    let next = try #require(try kiosk.question().stringValue)
    let denied = try fixture.daemon.usherctl(["confirm", "deny", next, "--admin"])
    #expect(denied.status == 0 && denied.errors == "refused for a minute\n")
    #expect(try kiosk.outcome() == "permission_denied")
    let again = try fixture.daemon.usherctl(["confirm", "allow", next, "--admin"])
    #expect(again.status == 1 && again.errors.contains("question \(next) was already answered"))
  }
}
