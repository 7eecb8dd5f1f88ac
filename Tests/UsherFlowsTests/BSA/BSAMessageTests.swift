import JSONRPC
import Testing
import UsherCore

@testable import UsherFlows

@Suite("Messages of BSA")
struct BSAMessageTests {
  private func message(_ text: String, to call: BSACall) throws -> String? {
    let reply = BSAReply(
      .reply(reply(["rtCode": 2012, "rtMsg": .string(text)], status: 200)), to: call)
    guard case .refused(let refusal) = reply else {
      Issue.record("the reply is no refusal: \(reply)")
      return nil
    }
    return refusal.message
  }

  @Test(
    "a clean rtMsg of BSA is shown",
    arguments: [
      ("Try again in 30 minutes.", "Try again in 30 minutes."),
      ("  점검 중입니다.\n다시 시도하세요 ", "점검 중입니다. 다시 시도하세요"),
      ("bad\u{1b}[2J", "bad[2J"), (String(repeating: "no ", count: 90), nil),
    ])
  func shown(text: String, message: String?) throws {
    let shown = try self.message(text, to: .idCheck(userKey: "ada.1815"))
    if let message { #expect(shown == message) }
    #expect((1...200).contains(shown?.unicodeScalars.count ?? 0))
  }

  @Test(
    "an rtMsg of BSA that is blank or may contain an address, a number or a token is not shown",
    arguments: [
      "", " \n", "for user@example.com", "your code is 7391", "code ７３９１４６", "call 077-009-001",
      "token GEZDGNBVGY3TQOJQ", "key 0af3-77bb-91cc-00dd",
    ])
  func hidden(text: String) throws {
    #expect(try message(text, to: .idCheck(userKey: "other.key")) == nil)
  }

  @Test("an rtMsg of BSA that repeats a value of the call is not shown")
  func repeated() throws {
    let contact = try BSAContact(.email, "ada")
    let member = BSAMember(userKey: "ada.1", name: "Ada Lovelace")
    for (text, call) in [
      ("ADA is taken", .duplicateCheck(contact)), ("no mail to ada", .send(contact)),
      ("who is Ada lovelace?", .sendToMember(member, contact)),
      ("Ada.1 is taken", .idCheck(userKey: "ada.1")),
      ("73-91 is wrong", .verify(contact, number: Secret("7391"))),
    ] as [(String, BSACall)] {
      #expect(try message(text, to: call) == nil, "\(text)")
    }
  }

  @Test("a name of two letters hides only the messages of BSA that have it as a word")
  func shortValue() throws {
    let member = BSAMember(userKey: "a", name: "Ed")
    let call = BSACall.sendToMember(member, try BSAContact(.email, "user@example.com"))
    #expect(try message("the request failed", to: call) == "the request failed")
    #expect(try message("no such person: Ed", to: call) == nil)
    #expect(try message("ED, try later", to: call) == nil)
  }

  @Test("no value of a BSA call is shown in the rtMsg of its refusal")
  func values() throws {
    let signUp = try #require(DrivenRegister.signingUp().pending)
    guard case .signUp(let enrolment, let token) = signUp else {
      Issue.record("the flow does not sign up")
      return
    }
    for value in [
      enrolment.userKey, enrolment.name, BSAParts.email, BSAParts.phone, enrolment.device,
      token.revealed(),
    ] {
      #expect(try message("no: \(value)", to: signUp) == nil, "\(value)")
    }
  }
}
