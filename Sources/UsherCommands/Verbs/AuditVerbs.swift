import ArgumentParser
import UsherClient

struct AuditVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Show the audit log.",
    discussion: "Uses the admin socket. Without a subcommand, lists the log.",
    subcommands: [AuditListVerb.self, AuditVerifyVerb.self],
    defaultSubcommand: AuditListVerb.self)
}

struct AuditListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the audit log, oldest entries first.",
    discussion: """
      A row can record several equal calls: the last column has their number, and the time is that \
      of the last one. With --json, each output line holds at most a thousand rows.
      """)

  private static let page = 1000

  @OptionGroup var options: GlobalOptions

  @Option(help: "Only later calls: 90s, 15m, 1h or 7d ago, or a time such as 2026-11-22T08:00:00Z.")
  var since: TimeArgument?

  @Option(help: "Only earlier calls; same forms as --since.")
  var until: TimeArgument?

  @Flag(help: "Only denied calls.")
  var denied = false

  @Option(
    help: ArgumentHelp(
      "Only calls of this client: the name of a rule, or (user).", valueName: "name"))
  var client: String?

  @Option(help: "Only calls of this user.")
  var uid: UInt32?

  @Option(help: ArgumentHelp("Only calls about this account.", valueName: "id"))
  var account: AccountID?

  @Option(help: "Only calls of this method.")
  var method: String?

  @Option(help: "Only calls about this provider.")
  var provider: ProviderName?

  @Option(help: ArgumentHelp("Show at most this many rows.", valueName: "number"))
  var limit: Int?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit must be at least 1.") }
  }

  func run(at context: CommandContext) async throws {
    let now = context.environment.clock.now()
    var call = AuditList(
      since: since?.time(from: now), until: until?.time(from: now), client: client, uid: uid,
      account: account, method: method, provider: provider, denied: denied ? true : nil)
    var left = limit ?? .max
    var isEmpty = true
    repeat {
      call.limit = min(left, Self.page)
      let reply = try await context.show(call) { show($0, on: context.console) }
      isEmpty = isEmpty && reply.rows.isEmpty
      left -= reply.rows.count
      call.after = reply.next
    } while call.after != nil && left > 0
    if isEmpty && !context.printsJSON { context.console.printMessage("no such calls") }
  }

  private func show(_ reply: AuditList.Reply, on console: Console) {
    console.table(
      [
        "ROW", "AT", "CLIENT", "UID", "PID", "METHOD", "ABOUT", "GIVEN", "DECISION", "BY",
        "OUTCOME", "CALLS",
      ],
      reply.rows.map { row in
        [
          "\(row.n)", "\(row.at)", row.client, "\(row.uid)", "\(row.pid)", row.method, row.about,
          row.disclosed, row.decision.rawValue, row.reason, row.outcome, "\(row.count)",
        ]
      })
    for n in reply.unreadable ?? [] {
      console.printMessage("row \(n) cannot be decrypted; run: usherctl audit verify")
    }
  }
}

extension AuditList.Entry {
  /// What the audited call was about, such as `work/authorize acc_1`.
  fileprivate var about: String {
    let place = [provider?.rawValue, kind].compactMap(\.self).joined(separator: "/")
    let owner = owner.map { "uid \($0)" }
    return [place, target ?? "", account?.rawValue ?? "", flow?.rawValue ?? "", owner ?? ""]
      .filter { !$0.isEmpty }.joined(separator: " ")
  }

  fileprivate var disclosed: String { tokenText ?? (fields ?? []).joined(separator: ",") }

  /// The scope and the audience of the token that the call returned; nil if it returned none.
  private var tokenText: String? {
    scope.map { scope in audience.map { "\(scope) for \($0)" } ?? scope }
  }

  /// The rule that decided the call, with its conditions, such as `till, not local_auth`.
  fileprivate var reason: String {
    let sorted = (conditions ?? [:]).sorted { $0.key < $1.key }
    return ([rule] + sorted.map { $0.value ? $0.key : "not \($0.key)" }).joined(separator: ", ")
  }
}

/// A time as a person types it: an age such as `15m`, or an RFC 3339 time.
enum TimeArgument: Equatable {
  case ago(seconds: Int64)
  case at(Timestamp)

  func time(from now: Timestamp) -> Timestamp {
    switch self {
    case .ago(let seconds): now - .seconds(seconds)
    case .at(let time): time
    }
  }
}

extension TimeArgument: ExpressibleByArgument {
  init?(argument: String) {
    if let time = Timestamp(rfc3339: argument) {
      self = .at(time)
      return
    }
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    guard let unit = argument.last.flatMap({ units[$0] }),
      argument.dropLast().allSatisfy(\.isASCII), argument.dropLast().allSatisfy(\.isNumber),
      let count = Int64(argument.dropLast()), count <= 1_000_000_000
    else { return nil }
    self = .ago(seconds: count * unit)
  }
}

struct AuditVerifyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check that the audit log is complete and unchanged.",
    discussion: """
      Checks every row. Exits with 1, and prints a line for each problem, if a row was altered, is \
      missing, or does not follow the row before it.
      """)

  /// The deadline of the call, in which the daemon can verify ten million rows.
  private static let deadline = Duration.seconds(1800)

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    let reply = try await context.show(AuditVerify(), deadline: Self.deadline) { reply in
      for finding in reply.findings { context.console.print(finding.message) }
      context.console.print(reply.summary)
    }
    if !reply.whole { throw CommandFailure.silent }
  }
}

extension AuditVerify.Reply {
  fileprivate var summary: String {
    let rows =
      switch (first, last) {
      case (let first?, let last?): "rows \(first) to \(last)"
      default: "no rows"
      }
    return "\(whole ? "ok" : "FAILED"): \(rows), begun at \(begunAt)"
  }
}
