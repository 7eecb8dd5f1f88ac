import ArgumentParser
import UsherClient
import UsherConfig

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
