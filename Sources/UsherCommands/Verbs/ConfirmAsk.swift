import ArgumentParser
import UsherClient

struct ConfirmAskVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "ask", abstract: "Answer the open questions one by one (default).",
    discussion: "Without a terminal, only lists the questions.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket

  func run(at context: CommandContext) async throws {
    let client = socket.client(context)
    let (reply, json) = try await client.callWithJSON(ConfirmList())
    if context.printsJSON { return context.console.json(json) }
    guard context.console.isInteractive, !reply.questions.isEmpty else {
      return context.show(reply)
    }
    for question in reply.questions {
      context.show(question)
      guard let (allow, remember) = try await choose(context.console) else { continue }
      do {
        try await context.answer(question.id, allow, remember, on: client)
      } catch let error as UsherError where [.notFound, .conflict].contains(error.reason) {
        context.console.printMessage("\(error.message): it was already answered or has expired")
      }
    }
  }

  /// Asks the person.
  ///
  /// - Returns: The person's answer, and how long it stays valid; nil to leave the question open.
  private func choose(_ console: Console) async throws -> (allow: Bool, remember: Remember)? {
    let days = Remember.longest / 86_400
    while true {
      console.prompt(
        "o once, s for the session, a number of days, n to refuse, Enter to leave it open: ")
      guard let line = try await console.readLine() else { return nil }
      switch line.lowercased() {
      case "": return nil
      case "o": return (true, .once)
      case "s": return (true, .session)
      case "n": return (false, .once)
      case let text:
        if let count = Int(text), (1...days).contains(count) {
          return (true, .seconds(count * 86_400))
        }
        console.printMessage("enter one of these letters, or a number from 1 to \(days)")
      }
    }
  }
}

extension CommandContext {
  fileprivate func show(_ question: Confirmation) {
    let (asker, about) = (question.asker, question.about)
    console.print("\(asker.client) wants to call \(about.callText)")
    console.printProperties([
      ("question", question.id.rawValue), ("user", asker.userText), ("unit", asker.unit),
      ("program", asker.executable), ("account", about.accountText), ("scope", about.scope),
      ("summary", about.summary), ("amount", about.amount), ("payee", about.payee),
      ("body", about.bodyDigest.map { "SHA-256 \($0)" }),
      ("open for", max(question.expiresAt - environment.clock.now(), .zero).text),
    ])
  }
}
