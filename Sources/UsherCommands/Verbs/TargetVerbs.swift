import ArgumentParser
import UsherClient
import UsherConfig

struct TargetVerbs: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "target",
    abstract: "Show and test the targets, by which tools such as git get their tokens.",
    subcommands: [TargetListVerb.self, TargetTestVerb.self])
}

struct TargetListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the targets that you may use, in the order they are tried.")

  @OptionGroup var options: GlobalOptions

  func run(at context: CommandContext) async throws {
    try await context.show(TargetList()) { reply in
      context.console.table(
        ["KIND", "MATCH", "PROVIDER", "TOKEN", "SCOPE", "AUDIENCE", "USERNAME"],
        reply.targets.map { target in
          [
            target.kind, target.match, target.provider?.rawValue ?? "(an account)",
            target.field.text, target.scope ?? "", target.audience ?? "", target.username ?? "",
          ]
        }, none: "no targets")
    }
  }
}

struct TargetTestVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Explain which target and account answer a tool, and what is missing.",
    discussion: """
      Gets no token:
        usherctl target test git https://git.example/team/app.git
        usherctl target test docker ghcr.io

      Exits with 1 if the tool would get no token, and with 77 if your rule does not allow it.
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(
    help: ArgumentHelp(
      "The contract by which the tool asks for a credential, such as git or docker.",
      valueName: "kind"))
  var kind: String

  @Argument(
    help: ArgumentHelp("What the tool asks a credential for, such as a URL.", valueName: "name"))
  var name: String

  func run(at context: CommandContext) async throws {
    do {
      let reply = try await context.show(TargetResolve(kind: kind, name: name)) {
        $0.show(on: context.console)
      }
      if !reply.allowed { throw CommandFailure.silent }
    } catch let error as UsherError where error.reason == .noTarget && !context.printsJSON {
      context.console.print("1. target   none answers \(kind) \(name)")
      context.console.printLines(try missingLines)
      throw CommandFailure.silent
    }
  }

  /// The lines of the configuration that are missing.
  private var missingLines: String {
    get throws {
      let name = try TargetName(kind: kind, name: name)
      return """

        To add one, copy these lines to /etc/usherd/usherd.toml, with the name of your provider
        (see: usherctl provider list), and run: usherctl reload

        [[target]]
        kind = "\(name.kind.text)"
        match = \(TomlValue.quoted(name.suggestedMatch))
        provider = "PROVIDER"
        """
    }
  }
}

extension TargetResolve.Reply {
  /// Prints one line for each step by which the daemon finds the token.
  fileprivate func show(on console: Console) {
    console.print("1. target   \(target.kind) \(target.match) answers")
    let place = provider.map { " at provider \($0)" } ?? ""
    console.print("2. account  " + (account.map { "\($0)\(place)" } ?? "none of yours\(place)"))
    let limits = [
      target.scope.map { "scope \($0)" }, target.audience.map { "audience \($0)" },
      target.username.map { "user name \($0)" },
    ].compactMap(\.self)
    console.print("3. token    " + ([target.field.text] + limits).joined(separator: ", "))
    console.print("4. rights   " + (allowed ? "allowed" : "no token: \(message ?? reason ?? "")"))
    for condition in conditions?.waiting ?? [] { console.print("            if \(condition)") }
    if let next {
      console.print("            try: \(next.params.nextFlow.command)")
    }
  }
}

extension PolicyCheck.Conditions {
  /// What must hold before the token is returned.
  fileprivate var waiting: [String] {
    [
      localAuthSeconds.map { "you proved presence within the last \($0) s" },
      confirmation ? "a person approves" : nil,
    ].compactMap(\.self)
  }
}

extension TokenGet.Field {
  fileprivate var text: String {
    switch self {
    case .accessToken: "access token"
    case .idToken: "ID token"
    }
  }
}
