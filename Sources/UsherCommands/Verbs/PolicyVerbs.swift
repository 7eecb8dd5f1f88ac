import ArgumentParser
import UsherClient
import UsherConfig

struct PolicyVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Show and test the access rules.",
    subcommands: [PolicyShowVerb.self, PolicyCheckVerb.self])
}

/// The option that selects from where rules are read: from the daemon, or from files.
struct RuleSource: ParsableArguments {
  @Option(
    name: .customLong("config"),
    help: ArgumentHelp(
      "Read the rules from this file, without the daemon; may be repeated.", valueName: "file"))
  var files: [String] = []

  /// Returns the configuration in the files; nil if no files are named, so that the daemon must be
  /// asked.
  ///
  /// - Throws: The errors of ``ConfigFileArguments/load(in:)``.
  func load() throws -> Config? { files.isEmpty ? nil : try ConfigFileArguments.load(files) }
}

struct PolicyShowVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "List the rules in the order they are tried, with file and line.",
    discussion: "Uses the admin socket.")

  @OptionGroup var options: GlobalOptions
  @OptionGroup var source: RuleSource

  func run(at context: CommandContext) async throws {
    if let config = try source.load() {
      try context.show(value: config.policyList()) { show($0, on: context.console) }
    } else {
      try await context.show(PolicyList()) { show($0, on: context.console) }
    }
  }

  private func show(_ list: PolicyList.Reply, on console: Console) {
    for rule in list.rules {
      let place = rule.file.map { " (\($0):\(rule.line ?? 0))" } ?? ""
      console.print("rule \(rule.name)\(place)")
      console.printProperties(rule.properties)
      console.print("")
    }
    console.printLines(
      """
      Callers that no rule matches: root and the daemon's own user may do everything, members of
      \(list.group) everything except locking, others nothing. Rules do not apply on the admin \
      socket.
      """)
  }
}

extension PolicyList.Rule {
  /// The rule's settings as names and values for printing: `match` and `allow` first, then the
  /// others by name.
  fileprivate var properties: [(name: String, value: String?)] {
    let settings = settings.objectValue ?? [:]
    let first = ["match", "allow"]
    let keys = first + settings.keys.filter { !first.contains($0) }.sorted()
    return keys.map { key in ("  \(key)", settings[key]?.text) }
  }
}

extension JSONValue {
  /// The setting's value as text, such as `unit till.service, user till` or `token.get work,
  /// token.list`.
  fileprivate var text: String {
    switch self {
    case .null: "none"
    case .bool(let flag): flag ? "yes" : "no"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .string(let text): text
    case .array(let items):
      items.isEmpty ? "nothing" : items.map(\.text).joined(separator: ", ")
    case .object(let members):
      members.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.text)" }
        .joined(separator: ", ")
    }
  }
}

struct PolicyCheckVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check whether a caller may make a call, by which rule, and why.",
    discussion: """
      Uses the admin socket; makes no call. The options alone describe the caller:
        usherctl policy check --unit pos.service token.get paysafe
        usherctl policy check --client till flow.start paysafe/operation --operation GET:/wallets/7
        usherctl policy check --user anna --at "Sun 03:00" token.get work --scope "openid email"
        usherctl policy check --user anna token.forTarget git/https://git.example/app.git

      Exits with 1 when the call is denied.
      """)

  @OptionGroup var options: GlobalOptions
  @OptionGroup var source: RuleSource

  @Option(help: ArgumentHelp("A caller that this rule matches.", valueName: "rule"))
  var client: String?

  @Option(help: ArgumentHelp("The user the caller runs as.", valueName: "name|uid"))
  var user: String?

  @Option(
    name: .customLong("group"),
    help: ArgumentHelp(
      "A group of the caller; may be repeated. Default: the user's.", valueName: "name|gid"))
  var groups: [String] = []

  @Option(help: ArgumentHelp("The systemd unit the caller runs in.", valueName: "name"))
  var unit: String?

  @Option(help: ArgumentHelp("The program that the caller runs.", valueName: "path"))
  var executable: String?

  @Argument(help: "The method to call, such as token.get.")
  var method: String

  @Argument(
    help: ArgumentHelp(
      "The provider, and the flow's kind; what a tool asks for, if the method is about targets.",
      valueName: "provider[/kind]|kind/name"))
  var target: String?

  @Option(
    help: ArgumentHelp("The provider call that the flow makes.", valueName: "METHOD:/path"))
  var operation: String?

  @Option(help: ArgumentHelp("The account of the call.", valueName: "id"))
  var account: AccountID?

  @Option(help: "The account's subject, if a rule depends on it.")
  var subject: String?

  @Option(help: ArgumentHelp("The scopes of the requested token.", valueName: "scopes"))
  var scope: String?

  @Option(help: "The audience of the requested token. Default: none.")
  var audience: String?

  @Option(
    help: ArgumentHelp(
      "The time of the call, such as \"Mon 08:30\". Default: now.", valueName: "time"))
  var at: String?

  func run(at context: CommandContext) async throws {
    let reply: PolicyCheck.Reply
    if let config = try source.load() {
      reply = try answer(config, context.environment)
      try context.show(value: reply) { $0.show(on: context.console) }
    } else {
      reply = try await context.show(question) { $0.show(on: context.console) }
    }
    if !reply.allowed { throw CommandFailure.silent }
  }

  private var question: PolicyCheck {
    let namesTarget = Methods.traits(of: method).namesTarget
    let parts = (namesTarget ? nil : target)?
      .split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return PolicyCheck(
      client: client, user: user, groups: groups.isEmpty ? nil : groups, unit: unit,
      executable: executable, method: method,
      provider: parts?.first.map { ProviderName($0) }, kind: parts?.dropFirst().first,
      operation: operation, account: account, subject: subject, scope: scope,
      audience: audience, target: namesTarget ? target : nil, at: at)
  }

  /// Returns the decision of a daemon on this machine that has this configuration.
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
    console.print("\(allowed ? "allowed" : "denied"): \(why)")
    console.printProperties(
      [
        ("  error reason", reason),
        ("  allowed again in", retryAfterMs.map { Duration.milliseconds($0).text }),
        ("  if", conditions?.requirements), ("  scopes at most", conditions?.scopes?.listed),
        ("  members shown", conditions?.fields?.listed), ("  client", client),
        ("  accounts are", owner == .client ? "the client's" : "the user's"),
        ("  may read accounts of", lenders.isEmpty ? nil : lenders.listed),
        ("  answers questions of", confirms.isEmpty ? nil : confirms.listed),
        ("  if its process is unknown", unidentified.map { "denied: rule \($0) may match" }),
      ])
    if !considered.isEmpty { console.print("") }
    console.table(
      ["RULE", "WHERE", "SAYS"],
      considered.map { verdict in
        [
          verdict.rule, verdict.file.map { "\($0):\(verdict.line ?? 0)" } ?? "", verdict.why,
        ]
      })
  }
}

extension PolicyCheck.Conditions {
  /// The conditions that the caller must still meet for the call, as text; nil if there are none.
  fileprivate var requirements: String? {
    let seconds = localAuthSeconds.map { "the user proved presence within the last \($0) s" }
    let requirements = [seconds, confirmation ? "a person approves" : nil].compactMap { $0 }
    return requirements.isEmpty ? nil : requirements.joined(separator: ", and ")
  }
}

extension [String] {
  fileprivate var listed: String { isEmpty ? "none" : joined(separator: ", ") }
}
