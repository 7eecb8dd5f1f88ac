import ArgumentParser
import UsherAPI
import UsherClient
import UsherConfig
import UsherCore

struct PolicyCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Whether a caller may make a call, by which rule, and why.",
    discussion: """
      Asks on the admin socket; nothing is called. A caller is what is said of it and nothing else:
        usherctl policy check --unit pos.service token.get paysafe
        usherctl policy check --client till flow.start paysafe/operation --operation GET:/wallets/7
        usherctl policy check --user anna --at "Sun 03:00" token.get work --scope "openid email"

      Exits with 1 when the call is denied.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var source: RuleSource

  @Option(help: ArgumentHelp("A caller as this rule wants it.", valueName: "rule"))
  var client: String?

  @Option(help: ArgumentHelp("The user it runs as.", valueName: "name|uid"))
  var user: String?

  @Option(
    name: .customLong("group"),
    help: ArgumentHelp(
      "A group it is in; may be repeated. Default: the user's.", valueName: "name|gid"))
  var groups: [String] = []

  @Option(help: ArgumentHelp("The systemd unit it runs in.", valueName: "name"))
  var unit: String?

  @Option(help: ArgumentHelp("The program that it is.", valueName: "path"))
  var executable: String?

  @Argument(help: "What is called, such as token.get.")
  var method: String

  @Argument(
    help: ArgumentHelp("The provider, and the flow's kind.", valueName: "provider[/kind]"))
  var target: String?

  @Option(
    help: ArgumentHelp("The call of the provider's that a flow makes.", valueName: "METHOD:/path"))
  var operation: String?

  @Option(help: ArgumentHelp("An account it has.", valueName: "id"))
  var account: String?

  @Option(help: "The account's subject, where a rule goes by it.")
  var subject: String?

  @Option(help: ArgumentHelp("What a token is to be good for.", valueName: "scopes"))
  var scope: String?

  @Option(help: ArgumentHelp("When, such as \"Mon 08:30\"; default: now.", valueName: "time"))
  var at: String?

  func run(at context: CommandContext) async throws {
    let reply: PolicyCheck.Reply
    if let config = try source.load() {
      reply = try answer(config, context.environment)
      if context.printsJSON { try context.console.json(of: reply) }
    } else {
      let (asked, json) = try await context.admin.answer(to: question)
      reply = asked
      if context.printsJSON { context.console.json(json) }
    }
    if !context.printsJSON { reply.show(on: context.console) }
    if !reply.allowed { throw Failure.silent(Failure.Status.failed) }
  }

  private var question: PolicyCheck {
    let parts = (target ?? "").split(
      separator: "/", maxSplits: 1, omittingEmptySubsequences: false
    ).map(String.init)
    return PolicyCheck(
      client: client, user: user, groups: groups.isEmpty ? nil : groups, unit: unit,
      executable: executable, method: method,
      provider: target == nil ? nil : parts.first.map { ProviderName($0) },
      kind: parts.dropFirst().first, operation: operation,
      account: account.map { AccountID($0) }, subject: subject, scope: scope, at: at)
  }

  /// Returns the answer of a daemon that runs on this machine with these files.
  private func answer(_ config: Config, _ environment: CommandEnvironment) throws
    -> PolicyCheck.Reply
  {
    try Policy(config, daemonUser: environment.daemonUser, names: environment.names)
      .answer(
        question, of: config, at: WeekMinute(environment.clock.now(), by: environment.clock),
        names: environment.names)
  }
}

extension PolicyCheck.Reply {
  fileprivate func show(on console: Console) {
    console.say("\(allowed ? "allowed" : "denied"): \(why)")
    console.facts(
      [
        ("  the caller is told", reason), ("  again in", retryAfterMs.map(Self.words)),
        ("  if", conditions?.demands), ("  scopes at most", conditions?.scopes?.listed),
        ("  members shown", conditions?.fields?.listed), ("  client", client),
        ("  accounts are", owner == .client ? "the client's" : "the user's"),
        ("  may read those of", lenders.isEmpty ? nil : lenders.listed),
        ("  answers questions of", confirms.isEmpty ? nil : confirms.listed),
        (
          "  if its process cannot be told",
          unidentified.map { "it has no right: rule \($0) may be about it" }
        ),
      ])
    if !considered.isEmpty { console.say("") }
    console.table(
      ["RULE", "WHERE", "SAYS"],
      considered.map { verdict in
        [
          verdict.rule, verdict.file.map { "\($0):\(verdict.line ?? 0)" } ?? "", verdict.why,
        ]
      })
  }

  private static func words(_ milliseconds: Int) -> String {
    Duration.milliseconds(milliseconds).words
  }
}

extension PolicyCheck.Conditions {
  /// The conditions that a person must meet for the call; nil if there are none.
  fileprivate var demands: String? {
    let seconds = localAuthSeconds.map { "the person has proved to be there within \($0) s" }
    let demands = [seconds, confirmation ? "a person agrees" : nil].compactMap { $0 }
    return demands.isEmpty ? nil : demands.joined(separator: ", and ")
  }
}

extension [String] {
  fileprivate var listed: String { isEmpty ? "none" : joined(separator: ", ") }
}
