import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// The numbers that prove a contact, and what is wrong with them.
@Suite("BSA: numbers that people read", .mayBlock, .timeLimit(.minutes(10)))
struct BSAContactTests {
  private let scene: BSAScene

  init() throws { scene = try BSAScene(passcode: nil) }

  @Test("a wrong number is a problem with 3005, and the right one leads on")
  func wrong() throws {
    let flow = try scene.verifyContact()
    let again = try scene.enter(scene.wrongNumber(), to: flow)
    #expect(again.problem == ["wrong_code", "3005"] && again.state == "otpSent", "\(again.text)")
    #expect(again["step"] == flow["step"])
    #expect(try scene.enter(scene.number(), to: again)["status"] == "succeeded")
  }

  @Test("the fifth wrong number is the end: attempts_exhausted with 3005")
  func fiveWrong() throws {
    try scene.set(["attempts": 20])
    var flow = try scene.verifyContact()
    let wrong = try scene.wrongNumber()
    for _ in 1...4 {
      flow = try scene.enter(wrong, to: flow)
      #expect(flow.problem == ["wrong_code", "3005"], "\(flow.text)")
    }
    let end = try scene.enter(wrong, to: flow)
    #expect(end.failure == ["attempts_exhausted", "3005", nil], "\(end.text)")
    #expect(try scene.requests("mailVerify") == 5)
  }

  @Test("what cannot be a number is refused and not sent")
  func noNumber() throws {
    let flow = try scene.verifyContact()
    for number in ["", "12345", "1234567", "12345a", "１２３４５６"] {
      let input: JSONValue = ["type": "enterCode", "code": .string(number)]
      #expect(try scene.refusal(input, to: flow) == ["invalid_input", "input.code"], "\(number)")
    }
    let stray: JSONValue = [
      "type": "enterCode", "code": "123456", "fields": ["name": "Alice"],
    ]
    #expect(try scene.refusal(stray, to: flow) == ["invalid_input", "input.fields.name"])
    #expect(try scene.requests("mailVerify") == 0)
  }

  @Test("a number whose time is over at the provider is code_expired with 3006; another leads on")
  func expired() throws {
    let flow = try scene.verifyContact()
    try scene.sandbox.control("POST", "bsa/expire", ["what": "numbers"])
    let over = try scene.enter(scene.number(), to: flow)
    #expect(over.problem == ["code_expired", "3006"], "\(over.text)")
    let sent = try scene.resent(over)
    #expect(try scene.enter(scene.number(), to: sent)["status"] == "succeeded")
  }

  @Test("one whose time is over by the daemon's clock is not even sent")
  func expiredHere() throws {
    let clock = MovableClock()
    let scene = try BSAScene(passcode: nil, clock: clock)
    let flow = try scene.verifyContact()
    try clock.set(ahead: 181)
    let over = try scene.enter(scene.number(), to: flow)
    #expect(over.problem == ["code_expired", "3006"], "\(over.text)")
    #expect(try scene.requests("mailVerify") == 0)
  }

  @Test("a number is good once: in another flow of that contact it is code_expired with 3006")
  func reused() throws {
    let first = try scene.verifyContact()
    let second = try scene.verifyContact()
    // The second number took the place of the first.
    #expect(try scene.enter(scene.number(), to: second)["status"] == "succeeded")
    let end = try scene.enter(scene.number(), to: first)
    #expect(end.problem == ["code_expired", "3006"] && end["status"] == "active", "\(end.text)")
    #expect(try scene.list("disposeTokens").count == 1)
  }

  @Test("after another number was sent the one before is wrong")
  func replaced() throws {
    let flow = try scene.verifyContact()
    let first = try scene.number()
    let sent = try scene.resent(flow)
    guard try scene.number() != first else { return }
    #expect(try scene.enter(first, to: sent).problem == ["wrong_code", "3005"])
  }

  @Test("another number before its time is too_early, with the time that is left")
  func tooEarly() throws {
    let scene = try BSAScene(["resend_seconds": "30"], passcode: nil)
    let flow = try scene.resend(scene.verifyContact())
    #expect(flow.problem == ["too_early", nil], "\(flow.text)")
    let left = flow["problem"]?["retryAfterMs"]?.integerValue ?? -1
    #expect((20_000...30_000).contains(left))
    #expect(try scene.requests("mail") == 1)
  }

  @Test("a flow sends five numbers: the next is sent_enough, and the fifth is still good")
  func fiveSent() throws {
    var flow = try scene.verifyContact(by: "sms")
    for _ in 1...4 { flow = try scene.resent(flow) }
    flow = try scene.resend(flow)
    #expect(flow.problem == ["sent_enough", nil], "\(flow.text)")
    #expect(try scene.requests("sms") == 5)
    #expect(try scene.enter(scene.number(), to: flow)["status"] == "succeeded")
  }

  @Test("a contact that has had its numbers for today is refused with 3006")
  func dailyLimit() throws {
    try scene.set(["otpPerDay": 1])
    _ = try scene.verifyContact()
    let end = try scene.verifyContact()
    #expect(end.failure == ["provider_rejected", "3006", nil], "\(end.text)")
  }
}

/// Addresses, numbers and keys that cannot be.
@Suite("BSA: the shapes of contacts", .mayBlock, .timeLimit(.minutes(10)))
struct BSAContactShapeTests {
  static let noEmail = [
    "", "alice", "@example.com", "alice@", "a@b@c", "a lice@example.com", "alice@exa\nmple.com",
    String(repeating: "a", count: 243) + "@example.com",
  ]
  static let noNumber = [
    "", "123456", "1234567890123456", "++447700900123", "+44770x900123", "0044.7700.900123",
    "+", "٤٤٧٧٠٠٩٠٠١٢٣",
  ]
  static let noUserKey = [
    "", "abc", String(repeating: "a", count: 65), "ali ce", "alice/01", "álice", "alice?",
    "....",
  ]

  private let scene: BSAScene

  init() throws { scene = try BSAScene(passcode: nil) }

  private func expectImpossible(_ flow: JSONValue, _ member: String) throws {
    #expect(flow.failure == ["invalid_request", "2002", nil], "\(flow.text)")
    let message = flow["failure"]?["message"]?.stringValue
    #expect(message?.hasPrefix("\(member) must be") == true, "\(flow.text)")
    #expect(flow["failure"]?["retryable"] == false)
  }

  private func expectInvalid(_ method: String, _ params: JSONValue, _ field: String) throws {
    let error = try scene.app.error(of: method, params + ["provider": "bsa"])
    #expect(error["data"]?["reason"] == "invalid_params", "\(error.text)")
    #expect(error["data"]?["field"] == .string(field))
  }

  @Test("an address that cannot be: 2002, and nothing is asked")
  func email() throws {
    for address in Self.noEmail {
      let target: JSONValue = .string(address)
      try expectImpossible(
        scene.start("verifyContact", ["sendType": "email", "sendTarget": target]), "sendTarget")
      try expectImpossible(
        scene.start("register", BSAPerson.alice.params() + ["email": target]), "email")
      try expectInvalid(
        "registration.checkDuplicate", ["verifyType": "email", "verifyData": target],
        "verifyData")
    }
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("a phone number that cannot be: 2002, and nothing is asked")
  func phone() throws {
    for number in Self.noNumber {
      let target: JSONValue = .string(number)
      try expectImpossible(
        scene.start("verifyContact", ["sendType": "sms", "sendTarget": target]), "sendTarget")
      try expectImpossible(
        scene.start("register", BSAPerson.alice.params() + ["phoneNumber": target]),
        "phoneNumber")
      try expectInvalid(
        "registration.checkDuplicate", ["verifyType": "phoneNumber", "verifyData": target],
        "verifyData")
    }
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("a user key that cannot be: 2002, and nothing is asked")
  func userKey() throws {
    for key in Self.noUserKey {
      try expectImpossible(
        scene.start("register", BSAPerson.alice.params() + ["userKey": .string(key)]), "userKey")
      try expectInvalid("registration.checkUserKey", ["userKey": .string(key)], "userKey")
    }
    #expect(try scene.requestsInOrder() == [])
  }

  @Test("a name, a push token or a version that cannot be: 2002")
  func texts() throws {
    let texts = [
      ("name", ""), ("name", "  "), ("name", "A\u{7}"),
      ("name", String(repeating: "é", count: 129)), ("pushToken", "a b"), ("pushToken", ""),
      ("appVersion", "1 0"),
    ]
    for (member, text) in texts {
      try expectImpossible(
        scene.start("register", BSAPerson.alice.params() + [member: .string(text)]), member)
    }
  }

  @Test("one number in two writings is one contact, and goes without blanks and brackets")
  func writings() throws {
    try scene.setPasscode()
    let flow = try scene.start(
      "verifyContact", ["sendType": "sms", "sendTarget": "+44 (7700) 900-123"])
    #expect(flow.state == "otpSent", "\(flow.text)")
    let end = try scene.enter(scene.number(to: "+447700900123"), to: flow)
    let registered = try scene.start(
      "register",
      BSAPerson.alice.params() + [
        "disposeToken": end["result"]?["disposeToken"] ?? .null, "verifyBy": "sms",
      ])
    #expect(registered.stepType == "localAuth", "\(registered.text)")
  }

  @Test("a way that is none, and members that are missing, start no flow")
  func noFlow() throws {
    let fax: JSONValue = ["sendType": "fax", "sendTarget": "+447700900123"]
    for (kind, params) in [
      ("verifyContact", fax), ("verifyContact", ["sendType": "email"]),
      ("register", ["userKey": "alice.01"]),
      ("register", BSAPerson.alice.params("fingers")),
      ("register", BSAPerson.alice.params() + ["agreeGccs": "yes"]),
    ] as [(String, JSONValue)] {
      let reason = try scene.app.reason(
        of: "flow.start", ["provider": "bsa", "kind": .string(kind), "params": params])
      #expect(reason == "invalid_params", "\(params.text)")
    }
  }
}
