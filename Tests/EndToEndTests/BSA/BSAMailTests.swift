import JSONRPC
import Testing
import UsherTestKit

/// Numbers that leave as real e-mails.
@Suite(
  "BSA: the number in a real e-mail", .mayBlock, .timeLimit(.minutes(10)),
  .enabled(
    if: MailReceiver.isPossible,
    "SKIPPED, NOT PROVEN: aiosmtpd is missing: Packaging/install-dependencies test"))
struct BSAMailTests {
  /// As a person reads it: the only digits in a row of that many.
  private func number(in letter: JSONValue) throws -> String {
    let text = letter["text"]?.stringValue ?? ""
    let found = text.matches(of: /\b[0-9]{6}\b/).map { String($0.0) }
    guard found.count == 1 else { throw TestTrouble("no number in the letter: \(text)") }
    return found[0]
  }

  @Test("a person registers with the numbers that came by SMTP")
  func registers() throws {
    let mail = try MailReceiver()
    let scene = try BSAScene(
      sandbox: SandboxUnderTest(["--smtp", "smtp://127.0.0.1:\(mail.port)"]))
    let sent = try scene.verifyContact()
    let letter = try mail.letter()
    #expect(letter["to"] == ["alice@example.com"] && letter["headerTo"] != nil, "\(letter.text)")
    #expect(letter["defects"] == [])
    let verified = try scene.enter(number(in: letter), to: sent)
    #expect(verified["status"] == "succeeded", "\(verified.text)")
    // The flow that does it all, for somebody else.
    let other = try scene.start("register", BSAPerson.bob.params())
    let second = try mail.letter()
    #expect(second["to"] == ["bob@example.com"], "\(second.text)")
    let asked = try scene.enter(number(in: second), to: other)
    #expect(asked.stepType == "localAuth", "\(asked.text)")
    #expect(try scene.prove(asked)["status"] == "succeeded")
    #expect(try scene.registration("bob.02") != nil)
  }
}
