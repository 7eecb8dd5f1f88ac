/// All messages that the backends send by SMS, e-mail or push.
///
/// Messages do not leave the machine. If a mail server on loopback is configured, e-mails are also
/// sent to it, one at a time and without delaying the response to the request that caused them.
package actor Outbox {
  private let clock: SandboxClock
  private let mailServer: MailServer?
  private var table = OutboxTable()
  private var mailing: Task<Void, Never>?

  package init(clock: SandboxClock, mailServer: MailServer? = nil) {
    self.clock = clock
    self.mailServer = mailServer
  }

  package func post(_ message: Message) {
    guard message.channel == .email, let mailServer else {
      return table.add(message, at: clock.now())
    }
    table.add(message, delivery: .waiting, at: clock.now())
    if mailing == nil { mailing = Task { await mail(by: mailServer) } }
  }

  /// Returns when no e-mail is waiting to be sent.
  package func settled() async { await mailing?.value }

  package func messages(to: String? = nil, provider: String? = nil) -> [OutboxTable.Entry] {
    table.matching(to: to, provider: provider)
  }

  package func removeAll() { table.removeAll() }

  private func mail(by server: MailServer) async {
    while let entry = table.nextWaiting {
      let delivery = await server.send(
        EmailMessage(entry.message, from: server.sender, id: entry.id, at: entry.at))
      table.update(delivery, of: entry.id)
    }
    mailing = nil
  }
}
