import Foundation
import Testing
import UsherTestKit

@testable import UsherSandbox

private func sms(_ number: Int, to: String = "+441", provider: String = "one") -> Message {
  Message(provider: provider, channel: .sms, to: to, text: "text \(number)", code: "\(number)")
}

private func email(_ text: String, to: String = "alice@example.com") -> Message {
  Message(provider: "one", channel: .email, to: to, subject: "Übung", text: text)
}

@Suite("Outbox of the sandbox", .mayBlock)
struct OutboxTests {
  @Test("the outbox lists the newest message first and filters by recipient and provider")
  func matching() {
    var table = OutboxTable()
    table.add(sms(1), at: start)
    table.add(sms(2, to: "+442"), at: start)
    table.add(sms(3, provider: "two"), at: start)
    #expect(table.matching(to: nil, provider: nil).map(\.message.code) == ["3", "2", "1"])
    #expect(table.matching(to: "+441", provider: nil).map(\.message.code) == ["3", "1"])
    #expect(table.matching(to: "+441", provider: "one").map(\.id) == ["msg_1"])
    table.removeAll()
    #expect(table.matching(to: nil, provider: nil).isEmpty)
  }

  @Test(
    "the outbox drops its oldest messages, and a delivery note for a dropped one changes nothing")
  func bounded() {
    var table = OutboxTable()
    for number in 0..<(OutboxTable.limit + 5) { table.add(sms(number), at: start) }
    #expect(table.entries.count == OutboxTable.limit)
    #expect(table.entries.first?.message.code == "5")
    table.update(.sent, of: "msg_1")
    #expect(table.entries.allSatisfy { $0.delivery == nil })
  }

  @Test("the control API lists outbox messages by recipient or provider and clears the outbox")
  func control() async throws {
    let context = try BackendContext.test()
    await context.outbox.post(sms(1))
    await context.outbox.post(email("hello"))
    let pages = OutboxPages(context: context)
    var call = EndpointCall(.get, "/_control/outbox", base: "")
    call.query = "to=%2B441"
    let reply = await pages.controls[0].handle(call)
    #expect(
      try JSON(parsing: reply.body) == [
        "count": 1,
        "messages": [
          [
            "id": "msg_1", "at": 1_800_000_000, "provider": "one", "channel": "sms", "to": "+441",
            "text": "text 1", "code": "1",
          ]
        ],
      ])
    call.query = "provider=nobody"
    #expect(try await JSON(parsing: pages.controls[0].handle(call).body)["count"] == 0)
    call.query = "to=a&to=b"
    #expect(await pages.controls[0].handle(call).status == 400)
    _ = await pages.controls[1].handle(EndpointCall(.delete, "/_control/outbox", base: ""))
    #expect(await context.outbox.messages().isEmpty)
  }

  @Test("the outbox page shows the newest message first and escapes recipients and texts")
  func page() async throws {
    let context = try BackendContext.test()
    await context.outbox.post(sms(1, to: "<b>"))
    await context.outbox.post(email("<script>alert(1)</script>"))
    let reply = await OutboxPages(context: context).page.handle(
      EndpointCall(.get, "/outbox", base: ""))
    let html = String(decoding: reply.body, as: UTF8.self)
    #expect(!html.contains("<script>"))
    #expect(!html.contains("to <b>"))
    let newest = try #require(html.range(of: "msg_2"))
    let oldest = try #require(html.range(of: "msg_1"))
    #expect(newest.lowerBound < oldest.lowerBound)
    #expect(html.contains("Übung"))
  }
}

@Suite("E-mail sent by the sandbox")
struct MailTests {
  @Test(
    "an e-mail is rendered as pure ASCII, and its content cannot inject headers or SMTP commands")
  func rendering() {
    let message = Message(
      provider: "one", channel: .email, to: "a@b.example", subject: "Grüße\r\nBcc: x@y.example",
      text: "Ihr Code: 123456 ☃\r\n.\r\nQUIT")
    let text = String(
      decoding: EmailMessage(message, from: "s@localhost", id: "msg_1", at: start).rendered,
      as: UTF8.self)
    #expect(text.utf8.allSatisfy { $0 < 0x80 })
    #expect(!text.contains("Bcc"))
    #expect(!text.contains("QUIT"))
    #expect(text.contains("Date: Fri, 15 Jan 2027 08:00:00 +0000\r\n"))
    #expect(text.contains("To: <a@b.example>\r\n"))
  }

  @Test(
    "a recipient that is not a plain e-mail address is refused",
    arguments: [
      "", "alice", "@", "a@", "@b", "a@b@c", "a b@c", "a@b>\r\nDATA", "<a@b>", "a,b@c", "ä@b",
      String(repeating: "a", count: 254) + "@b",
    ])
  func addresses(_ text: String) {
    #expect(EmailMessage.address(text) == nil)
  }

  @Test("a loopback smtp URL is accepted as the mail server, with or without a port")
  func servers() throws {
    let server = try MailServer("smtp://127.0.0.1:2525")
    #expect(server.port == 2525)
    #expect(try MailServer("smtp://localhost/").host == "127.0.0.1")
    #expect(try MailServer("smtp://[::1]:25").host == "[::1]")
  }

  @Test(
    "a mail server URL that is not a plain loopback smtp URL is refused, as is a malformed sender",
    arguments: [
      "", "127.0.0.1:25", "http://127.0.0.1", "smtp://mail.example:25", "smtp://127.0.0.1:0",
      "smtp://127.0.0.1:65536", "smtp://127.0.0.1:", "smtp://127.0.0.1.evil.example",
      "smtp://127.0.0.1:25/x", "smtp://user@127.0.0.1",
    ])
  func refused(_ url: String) {
    #expect(throws: Sandbox.ConfigurationError.self) { try MailServer(url) }
    #expect(throws: Sandbox.ConfigurationError.self) {
      try MailServer("smtp://127.0.0.1", sender: "x")
    }
  }

  @Test("an e-mail that cannot be delivered is recorded in the outbox with the reason")
  func nobodyListens() async throws {
    var server = try MailServer("smtp://127.0.0.1:1")
    server.limit = .seconds(60)
    let outbox = Outbox(clock: SandboxClock { start }, mailServer: server)
    await outbox.post(email("one"))
    await outbox.post(email("two", to: "no address"))
    await outbox.post(sms(3))
    await outbox.settled()
    let deliveries = await outbox.messages().map { $0.delivery?.description }
    try #require(deliveries.count == 3)
    #expect(deliveries[0] == nil)
    #expect(deliveries[1] == "failed: the recipient is not a valid e-mail address")
    #expect(deliveries[2]?.hasPrefix("failed: curl: (7)") == true)
  }

  @Test("an e-mail to a mail server that never answers fails with curl's time-out")
  func silent() async throws {
    let silent = try TestSocket(listeningAt: .loopback(port: 0))
    var server = try MailServer("smtp://127.0.0.1:\(silent.port)")
    // The wait is real, because curl's own timer is the subject. On a busy machine, the limit may
    // pass before curl connects, with the same error.
    server.limit = .milliseconds(50)
    let delivery = await server.send(
      EmailMessage(email("one"), from: server.sender, id: "msg_1", at: start))
    #expect("\(delivery)".hasPrefix("failed: curl: (28)"))
  }

  @Test(
    "running a program reports a missing program, a time-out, or the exit status and error output")
  func programs() async {
    #expect(await runProgram("no-such-program", [], input: [], within: .seconds(60)) == .notStarted)
    // The time limit is zero. If `runProgram` waited, it would report status 0 after a minute.
    #expect(await runProgram("sleep", ["60"], input: [], within: .zero) == .tookTooLong)
    #expect(
      await runProgram(
        "sh", ["-c", "cat >&2; exit 3"], input: Array("hi".utf8), within: .seconds(60))
        == .ended(status: 3, errors: "hi"))
    #expect(
      await runProgram("sh", ["-c", "kill -9 $$"], input: [], within: .seconds(60))
        == .ended(status: 137, errors: ""))
  }
}

/// Delivery to a mail server that is not part of this project.
@Suite(
  "E-mail delivery to a real mail server",
  .enabled(
    if: MailReceiver.isHere,
    "SKIPPED, NOT PROVEN: Packaging/install-dependencies test must have run"
  ))
struct RealMailTests {
  @Test("e-mails reach the mail server unchanged and in order, and an SMS is not sent to it")
  func arrives() async throws {
    let receiver = try MailReceiver()
    var server = try MailServer("smtp://127.0.0.1:\(receiver.port)", sender: "bank@example.com")
    server.limit = .seconds(60)
    let outbox = Outbox(clock: SandboxClock { start }, mailServer: server)
    let text =
      "Ihr Code: 123456 ☃\r\n.\r\nein Punkt allein, und " + String(repeating: "x", count: 300)
    await outbox.post(email(text))
    await outbox.post(sms(1))
    await outbox.post(email("second"))
    await outbox.settled()
    #expect(await outbox.messages().map { $0.delivery } == [.sent, nil, .sent])
    let email = try receiver.email()
    #expect(email["from"] == "bank@example.com")
    #expect(email["to"] == ["alice@example.com"])
    #expect(email["headerTo"] == "alice@example.com")
    #expect(email["subject"] == "Übung")
    #expect(
      email["text"]?.text?.replacing("\r\n", with: "\n") == text.replacing("\r\n", with: "\n"))
    #expect(email["defects"] == [])
    #expect(try receiver.email()["text"] == "second")
  }

  @Test("an e-mail that the mail server refuses is recorded as failed with the server's answer")
  func refused() async throws {
    let receiver = try MailReceiver()
    var server = try MailServer("smtp://127.0.0.1:\(receiver.port)")
    server.limit = .seconds(60)
    let delivery = await server.send(
      EmailMessage(email("x", to: "nobody@example.com"), from: server.sender, id: "m", at: start))
    #expect("\(delivery)".hasPrefix("failed: curl: (55) RCPT failed: 550"))
  }
}
