import ArgumentParser
import UsherClient

struct ConfirmVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm", abstract: "Allow or refuse calls that need your approval.",
    discussion: """
      A rule in the configuration can require approval. Without a subcommand, lists the open \
      questions; on a terminal, asks about each one.

      You answer the questions of your own programs, after you prove your presence with a finger \
      or your passcode, and those that a rule assigns to you. With --admin you answer the \
      questions of all users, on the admin socket.
      """,
    subcommands: [
      ConfirmAskVerb.self, ConfirmListVerb.self, ConfirmAllowVerb.self, ConfirmDenyVerb.self,
      ConfirmForgetVerb.self,
    ], defaultSubcommand: ConfirmAskVerb.self)
}

/// The option that selects the socket on which questions are listed and answered.
struct ConfirmSocket: ParsableArguments {
  @Flag(help: "The questions of all users, on the admin socket.")
  var admin = false

  func client(_ context: CommandContext) -> UsherClient { admin ? context.admin : context.app }
}

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
      ("audience", about.audience), ("target", about.target),
      ("summary", about.summary), ("amount", about.amount), ("payee", about.payee),
      ("body", about.bodyDigest.map { "SHA-256 \($0)" }),
      ("open for", max(question.expiresAt - environment.clock.now(), .zero).text),
    ])
  }
}

struct ConfirmListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List open questions and the answers in effect.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket

  func run(at context: CommandContext) async throws {
    try await context.show(ConfirmList(), on: socket.client(context)) { context.show($0) }
  }
}

extension CommandContext {
  func show(_ reply: ConfirmList.Reply) {
    let now = environment.clock.now()
    console.table(
      ["QUESTION", "CLIENT", "USER", "CALL", "ACCOUNT", "SCOPE", "AUDIENCE", "OPEN FOR"],
      reply.questions.map { question in
        [question.id.rawValue] + question.asker.cells + question.about.cells
          + [max(question.expiresAt - now, .zero).text]
      })
    if !reply.questions.isEmpty && !reply.answers.isEmpty { console.print("") }
    console.table(
      ["ANSWER", "CLIENT", "USER", "CALL", "ACCOUNT", "SCOPE", "AUDIENCE", "SAID", "UNTIL"],
      reply.answers.map { answer in
        [answer.id.rawValue] + answer.asker.cells + answer.about.cells
          + [answer.allow ? "allowed" : "refused", answer.end]
      })
    if reply.questions.isEmpty && reply.answers.isEmpty { console.printMessage("no questions") }
  }
}

extension Confirmation.Asker {
  /// The name and id of the user who made the call, such as `anna (1000)`.
  var userText: String { user.map { "\($0) (\(uid))" } ?? "uid \(uid)" }

  fileprivate var cells: [String] { [client, userText] }
}

extension Confirmation.About {
  /// The call with its provider and target, such as `flow.start wallet/operation GET:/wallets`.
  var callText: String {
    let place = [provider?.rawValue, kind].compactMap(\.self).joined(separator: "/")
    let shown = [amount, payee.map { "to \($0)" }].compactMap(\.self)
    return ([method, place, target ?? "", operation ?? ""] + shown).filter { !$0.isEmpty }
      .joined(separator: " ")
  }

  /// The label and id of the account that the call is about, such as `Ada (acc_1)`; nil if there is
  /// none.
  var accountText: String? {
    account.map { account in label.map { "\($0) (\(account))" } ?? account.rawValue }
  }

  fileprivate var cells: [String] {
    [callText, accountText ?? "", scope ?? "", audience ?? ""]
  }
}

extension Confirmation.Answer {
  fileprivate var end: String {
    switch remember {
    case .once where allow: "the next such call, or \(expiresAt.map { "\($0)" } ?? "")"
    case .once, .seconds: expiresAt.map { "\($0)" } ?? ""
    case .session: "usherd ends or is locked"
    }
  }
}

struct ConfirmAllowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "allow", abstract: "Allow a call: it succeeds when the program repeats it.",
    discussion: "By default the answer is for the next such call within 5 minutes.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var answer: AnswerOptions

  func run(at context: CommandContext) async throws { try await answer.submit(true, in: context) }
}

struct ConfirmDenyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "deny", abstract: "Refuse a call: such calls are not permitted.",
    discussion: "By default the answer holds for a minute.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var answer: AnswerOptions

  func run(at context: CommandContext) async throws { try await answer.submit(false, in: context) }
}

struct ConfirmForgetVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Withdraw an answer: the next such call asks again.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var socket: ConfirmSocket

  @Argument(help: ArgumentHelp("The answer's id; see usherctl confirm list.", valueName: "id"))
  var answer: ConfirmationID

  func run(at context: CommandContext) async throws {
    let method = ConfirmForget(answer: answer)
    try await context.showRunningRequiredFlow(method, on: socket.client(context)) { _ in
      context.console.printMessage("answer \(answer) withdrawn")
    }
  }
}
