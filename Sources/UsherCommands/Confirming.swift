import ArgumentParser
import UsherClient

/// The arguments of the commands that answer a question whether a call is allowed
/// (`confirm.answer`): the question, and how long the answer stays valid.
struct AnswerOptions: ParsableArguments {
  @OptionGroup var socket: ConfirmSocket

  @Flag(help: "Answer this once (default).")
  var once = false

  @Flag(help: "Until usherd ends or is locked.")
  var session = false

  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("For this long: 90s, 15m, 12h, 7d.", valueName: "span"))
  var span: Span?

  @Argument(help: ArgumentHelp("The question's id; see usherctl confirm list.", valueName: "id"))
  var question: ConfirmationID

  struct Span: ExpressibleByArgument {
    let seconds: Int

    /// Creates a duration from an argument; nil unless it is from 1 s to `Remember.longest`.
    init?(argument: String) {
      guard case .ago(let seconds)? = TimeArgument(argument: argument),
        (1...Int64(Remember.longest)).contains(seconds)
      else { return nil }
      self.seconds = Int(seconds)
    }
  }

  func validate() throws {
    guard [once, session, span != nil].filter({ $0 }).count <= 1 else {
      throw ValidationError("Use only one of --once, --session and --for.")
    }
  }

  /// How long the answer stays valid, as the options say; nil if no option is given.
  private var remember: Remember? {
    if let span { return .seconds(span.seconds) }
    if session { return .session }
    return once ? .once : nil
  }

  func submit(_ allow: Bool, in context: CommandContext) async throws {
    try await context.answer(question, allow, remember, on: socket.client(context))
  }
}

extension Remember {
  /// The sentence that confirms the answer, such as `allowed for 7 d`.
  fileprivate func sentence(_ allow: Bool) -> String {
    let outcome = allow ? "allowed" : "refused"
    return switch self {
    case .once: allow ? "allowed once" : "refused for a minute"
    case .session: "\(outcome) until usherd ends or is locked"
    case .seconds(let seconds): "\(outcome) for \(Duration.seconds(seconds).text)"
    }
  }
}

extension CommandContext {
  func answer(
    _ question: ConfirmationID, _ allow: Bool, _ remember: Remember?, on client: UsherClient
  ) async throws {
    let method = ConfirmAnswer(confirmation: question, allow: allow, remember: remember)
    try await showRunningRequiredFlow(method, on: client) { _ in
      console.printMessage((remember ?? .once).sentence(allow))
    }
  }

  /// Makes a call and prints its reply. If the daemon requires a flow first, such as local
  /// authentication, runs that flow and makes the call once more.
  func showRunningRequiredFlow<M: Method>(
    _ method: M, on client: UsherClient, _ show: (M.Reply) -> Void
  ) async throws {
    do {
      try await self.show(method, on: client, show)
    } catch let error as UsherError {
      guard error.reason == .interactionRequired, let next = error.detail.next else { throw error }
      console.printMessage(error.message)
      let flow = try await TerminalFlowRunner.run(
        next.provider.rawValue, next.kind, next.params, at: self, try FlowOptions.parse([]))
      try flow.checkSuccess()
      try await self.show(method, on: client, show)
    }
  }
}
