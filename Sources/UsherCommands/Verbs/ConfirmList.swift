import ArgumentParser
import UsherClient

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
      ["QUESTION", "CLIENT", "USER", "CALL", "ACCOUNT", "SCOPE", "OPEN FOR"],
      reply.questions.map { question in
        [question.id.rawValue] + question.asker.cells + question.about.cells
          + [max(question.expiresAt - now, .zero).text]
      })
    if !reply.questions.isEmpty && !reply.answers.isEmpty { console.print("") }
    console.table(
      ["ANSWER", "CLIENT", "USER", "CALL", "ACCOUNT", "SCOPE", "SAID", "UNTIL"],
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
    return ([method, place, operation ?? ""] + shown).filter { !$0.isEmpty }
      .joined(separator: " ")
  }

  /// The label and id of the account that the call is about, such as `Ada (acc_1)`; nil if there is
  /// none.
  var accountText: String? {
    account.map { account in label.map { "\($0) (\(account))" } ?? account.rawValue }
  }

  fileprivate var cells: [String] { [callText, accountText ?? "", scope ?? ""] }
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
